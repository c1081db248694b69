// node main.mjs CACHE: reads everything in a cache and prints it as docs/spec/vectors.md says.

import { Breach } from './breach.mjs';
import { Cache } from './cache.mjs';
import { Gathered, Output } from './output.mjs';

const output = new Output();

/** What `action` returns, or the breach that it met. Other errors are no breach and end the program. */
function attempt(action) {
  try {
    return action();
  } catch (error) {
    if (error instanceof Breach) return error;
    throw error;
  }
}

/** The records of a field in order: [sample, record or breach]. */
function* records(cache, field) {
  for (const { first, count, open } of cache.shards(field)) {
    const shard = attempt(open);
    try {
      for (let ordinal = 0; ordinal < count; ordinal++) {
        yield [first + ordinal, shard instanceof Breach ? shard : attempt(() => shard.record(ordinal))];
      }
    } finally {
      if (!(shard instanceof Breach)) shard.close();
    }
  }
}

/** Print the records of a field: by their digest if they are many, but one by one if any is refused. */
function printField(cache, field) {
  const gathered = new Gathered();
  for (const [sample, record] of records(cache, field)) {
    if (record instanceof Breach) return printEach(field, records(cache, field));
    gathered.add(record.shape, record.bytes, () => [sample, record]);
  }
  if (gathered.held) printEach(field, gathered.held);
  else output.line({ field: field.name, blake3: gathered.digest() });
}

function printEach({ name }, each) {
  for (const [sample, record] of each) {
    if (!(record instanceof Breach)) output.record(name, sample, record);
    else output.line({ rule: record.rule, message: record.message, field: name, sample });
  }
}

/** The first index that has another digest (R039), or undefined. Its records were proven one by one. */
function findWrongIndex(cache) {
  for (const field of cache.manifest.fields) {
    for (const { open } of cache.shards(field)) {
      const shard = attempt(open);
      if (shard instanceof Breach) continue; // told with each of its records
      const wrong = attempt(() => shard.checkIndex());
      shard.close();
      if (wrong) return wrong;
    }
  }
  return undefined;
}

function printMetadata(cache) {
  for (const column of cache.columns()) {
    const gathered = new Gathered();
    for (const value of column.values()) gathered.add([], value, () => value?.toString('hex') ?? null);
    const values = gathered.held;
    output.line({ column: column.name, ...(values ? { values } : { blake3: gathered.digest() }) });
  }
}

function main(path) {
  const cache = attempt(() => new Cache(path));
  if (cache instanceof Breach) return cache;
  output.line({ samples: cache.length, cache_id: `${cache.id}` });
  for (const field of cache.manifest.fields) printField(cache, field);
  return attempt(() => printMetadata(cache)) ?? findWrongIndex(cache);
}

const refused = main(process.argv[2]);
if (refused instanceof Breach) output.line({ rule: refused.rule, message: refused.message });
output.flush();
