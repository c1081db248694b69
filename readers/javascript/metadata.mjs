// metadata.arrow: its chunks (R041), the frame of the file, its batches (R042 to R044), the weights (R046).

import { blake3 } from './blake3.mjs';
import { checkBatchColumn } from './column.mjs';
import { demand, refuse } from './breach.mjs';
import { rootTable } from './flatbuffer.mjs';
import { checkSameColumns, checkSchema, checkVersion, readSchema } from './schema.mjs';
import { CHUNK } from './values.mjs';

const MAGIC = 'ARROW1';
const SCHEMA = 1;
const RECORD_BATCH = 3;
const BATCH_ROWS = 262144;
const PREFIX = 8; // of a message: marker and length

/** The whole metadata table, every check made: `columns` are [{name, type, values()}]. */
export function readMetadata(directory, manifest) {
  const bytes = provenBytes(directory, manifest.metadata);
  const { footer, footerStart, first } = readFrame(bytes);
  const columns = checkSchemas(footer, first, manifest.fields.map(({ name }) => name));
  const batches = readBatches(bytes, footer.blocks, footerStart, columns.length, manifest.samples);
  const checked = columns.map(() => []);
  for (const batch of batches) checkBatch(batch, columns, checked);
  const result = columns.map(({ name, type }, i) => ({ name, type, values: () => allValues(checked[i]) }));
  checkWeights(result.find(({ name }) => name === 'weight'));
  return result;
}

function* allValues(parts) {
  for (const part of parts) yield* part();
}

/** The file, each chunk compared with its digest before a byte of it is used (R041). */
function provenBytes(directory, { bytes, chunks }) {
  const file = directory.open('metadata.arrow', 'R030', bytes);
  try {
    const whole = Buffer.alloc(bytes);
    chunks.forEach((digest, i) => {
      const at = i * CHUNK;
      const chunk = file.read(BigInt(at), Math.min(CHUNK, bytes - at));
      demand(blake3(chunk) === digest, 'R041', `metadata.arrow: chunk ${i} has another digest`);
      chunk.copy(whole, at);
    });
    return whole;
  } finally {
    file.close();
  }
}

/** What lies outside the FlatBuffers, and these as they stand (R042). */
function readFrame(bytes) {
  const bad = (what) => refuse('R042', `metadata.arrow ${what}`);
  const L = bytes.length;
  if (L < 2 * MAGIC.length + 4) bad('is too short');
  if (bytes.latin1Slice(0, 6) !== MAGIC || bytes.latin1Slice(L - 6) !== MAGIC) bad('is no Arrow file');
  const footerStart = L - 10 - bytes.readInt32LE(L - 10);
  if (footerStart < 8 || footerStart > L - 10) bad('has a footer that cannot be');
  const table = rootTable(bytes.subarray(footerStart, L - 10), 'the footer');
  const schema = table.table(1);
  const dictionaries = table.countOf(2);
  const blocks = table.vector(3, 24) ?? { count: 0, bytes: Buffer.alloc(0) };
  const custom = table.countOf(4);
  if (!schema) bad('has a footer without a schema');
  const footer = { version: table.i16(0, 0), schema: readSchema(schema), dictionaries, blocks, custom };

  const message = messageAt(bytes, 8, footerStart);
  const header = message.table(2);
  if (!header) bad('has a first message without a header');
  const isSchema = message.u8(1, 0) === SCHEMA;
  const first = {
    version: message.i16(0, 0),
    schema: isSchema ? readSchema(header) : null,
    custom: message.countOf(4),
  };
  return { footer, footerStart, first };
}

/** The table of the message at `at`, whose buffer ends at `end` at the latest. */
function messageAt(bytes, at, end) {
  const length = at + PREFIX <= end ? bytes.readInt32LE(at + 4) : -1;
  const holds = length >= 0 && bytes.readInt32LE(at) === -1 && at + PREFIX + length <= end;
  if (!holds) refuse('R042', `metadata.arrow: no message of a possible length at byte ${at}`);
  return rootTable(bytes.subarray(at + PREFIX, at + PREFIX + length), `the message at byte ${at}`);
}

function checkSchemas(footer, first, fieldNames) {
  checkVersion(footer.version, 'the footer');
  demand(footer.dictionaries === 0, 'R045', 'the footer has dictionaries');
  demand(footer.custom === 0, 'R045', 'the footer has metadata of its own');
  checkVersion(first.version, 'the first message');
  demand(first.schema, 'R045', 'the first message is no schema');
  demand(first.custom === 0, 'R045', 'the first message has metadata of its own');
  const columns = checkSchema(footer.schema, fieldNames, 'the schema of the footer');
  checkSameColumns(checkSchema(first.schema, fieldNames, 'the schema of the first message'), columns);
  return columns;
}

/** The blocks and the headers of their batches (R042, R045), then R043 and R044. */
function readBatches(bytes, blocks, footerStart, columnCount, samples) {
  const most = Math.ceil(samples / BATCH_ROWS); // a small file can have millions of blocks
  const batches = [];
  let rows = 0n;
  let wrong = false;
  for (let i = 0; i < blocks.count; i++) {
    const batch = readBatch(bytes, blocks.bytes.subarray(24 * i, 24 * i + 24), footerStart, columnCount);
    rows += batch.rows;
    const full = batch.rows === BigInt(BATCH_ROWS);
    wrong ||= !(full || (i === blocks.count - 1 && batch.rows >= 1n && batch.rows < BATCH_ROWS));
    if (i < most) batches.push(batch);
  }
  demand(rows === BigInt(samples), 'R043', `metadata has ${rows} rows for ${samples} samples`);
  demand(!wrong, 'R044', `a batch of metadata but the last has not ${BATCH_ROWS} rows, or has none`);
  return batches;
}

function readBatch(bytes, block, footerStart, columnCount) {
  const bad = (what) => refuse('R042', `metadata.arrow: a block ${what}`);
  const [offset, body] = [block.readBigInt64LE(0), block.readBigInt64LE(16)];
  const prefix = block.readInt32LE(8);
  if (offset < 8n || prefix < 0 || body < 0n) bad('is negative, or before byte 8');
  if (offset % 8n || prefix % 8 || body % 8n) bad('is no multiple of 8');
  if (offset + BigInt(prefix) + body > BigInt(footerStart)) bad('reaches into the footer');
  const at = Number(offset);
  const message = messageAt(bytes, at, footerStart);
  if (bytes.readInt32LE(at + 4) + PREFIX !== prefix) bad('has not the length of its message');
  const header = message.table(2);
  if (message.u8(1, 0) !== RECORD_BATCH || !header) bad('is no record batch');
  if (message.i64(3, 0n) !== body) bad('and its message have bodies of two lengths');
  const rows = header.i64(0, 0n);
  const nodes = header.vector(1, 16);
  const buffers = header.vector(2, 16);
  const counts = header.vector(4, 8);
  if (rows < 0n) bad('has less than no rows');
  if ((nodes?.count ?? 0) !== columnCount) bad('has not one node per column');
  checkVersion(message.i16(0, 0), 'a batch');
  demand(message.countOf(4) === 0, 'R045', 'a batch has metadata of its own');
  demand(!header.has(3), 'R045', 'a batch is compressed');
  const start = at + prefix;
  return { rows, nodes, buffers, counts, body: bytes.subarray(start, start + Number(body)) };
}

/** The buffers and values of a batch (R042): adds to each column a function that goes over its values. */
function checkBatch(batch, columns, checked) {
  const bad = (what) => refuse('R042', `a batch of metadata ${what}`);
  const rows = Number(batch.rows);
  let nextBuffer = 0;
  let nextCount = 0;
  const buffer = () => {
    if (nextBuffer === (batch.buffers?.count ?? 0)) bad('has too few buffers');
    const at = 16 * nextBuffer++;
    const offset = batch.buffers.bytes.readBigInt64LE(at);
    const length = batch.buffers.bytes.readBigInt64LE(at + 8);
    const holds = offset >= 0n && length >= 0n && offset % 8n === 0n && offset + length <= batch.body.length;
    if (!holds) bad(`has a buffer [${offset}, ${offset + length}) in a body of ${batch.body.length} bytes`);
    return batch.body.subarray(Number(offset), Number(offset + length));
  };
  columns.forEach(({ type }, i) => {
    const length = batch.nodes.bytes.readBigInt64LE(16 * i);
    const nulls = batch.nodes.bytes.readBigInt64LE(16 * i + 8);
    if (length !== batch.rows) bad(`has ${batch.rows} rows and a node of ${length}`);
    const bitmap = buffer();
    const values = buffer();
    const data = [];
    if (type.layout === 'views') {
      if (nextCount === (batch.counts?.count ?? 0)) bad('has too few variadicBufferCounts');
      const count = batch.counts.bytes.readBigInt64LE(8 * nextCount++);
      if (count < 0n) bad(`has ${count} data buffers`);
      for (let k = 0n; k < count; k++) data.push(buffer());
    }
    checked[i].push(checkBatchColumn(type, rows, nulls, { bitmap, values, data }));
  });
  if (nextBuffer !== (batch.buffers?.count ?? 0)) bad('has too many buffers');
  if (nextCount !== (batch.counts?.count ?? 0)) bad('has too many variadicBufferCounts');
}

function checkWeights(column) {
  if (!column) return;
  const type = column.type.name;
  demand(type === 'float64', 'R046', `the column weight is ${type}, expected float64`);
  for (const value of column.values()) {
    const weight = value === null ? NaN : value.readDoubleLE(0);
    demand(Number.isFinite(weight) && weight >= 0, 'R046', `a weight is null or ${weight}`);
  }
}
