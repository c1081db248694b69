// metadata.arrow: its chunks (R041), the frame of the file, its batches (R042 to R044), the weights (R046).

import { blake3 } from './blake3.mjs';
import { checkBatchColumn } from './column.mjs';
import { demand, refuse } from './breach.mjs';
import { rootTable } from './flatbuffer.mjs';
import { checkSameColumns, checkVersion, readSchema } from './schema.mjs';
import { CHUNK } from './values.mjs';

const MAGIC = 'ARROW1';
const SCHEMA = 1;
const RECORD_BATCH = 3;
const BATCH_ROWS = 262144;
const PREFIX = 8; // of a message: marker and length
const END = 10; // of the file: length of the footer, magic
const LEAST = 4; // of a buffer

/** The whole metadata table, every check made: `columns` are [{name, type, values()}]. */
export function readMetadata(directory, manifest) {
  const bytes = provenBytes(directory, manifest.metadata);
  const frame = readFrame(bytes);
  const names = manifest.fields.map(({ name }) => name);
  const { columns, blocks } = readFooter(frame.footer, names);
  checkSameColumns(readFirst(frame.first, names), columns);
  const batches = readBatches(bytes, blocks, frame.footerStart, manifest.samples);
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

/** What lies outside the FlatBuffers, and their bytes (R042). */
function readFrame(bytes) {
  const bad = (what) => refuse('R042', `metadata.arrow ${what}`);
  const L = bytes.length;
  if (L < 8 + END) bad('is too short');
  if (bytes.latin1Slice(0, 6) !== MAGIC || bytes.latin1Slice(L - 6) !== MAGIC) bad('is no Arrow file');
  const length = bytes.readInt32LE(L - END);
  const footerStart = L - END - length;
  if (length < LEAST || footerStart < 8) bad('has a footer that cannot be');
  const first = messageAt(bytes, 8, footerStart);
  return { footerStart, footer: bytes.subarray(footerStart, L - END), first };
}

/** The buffer of the message at `at`, which ends at `end` at the latest. */
function messageAt(bytes, at, end) {
  const length = at + PREFIX <= end ? bytes.readInt32LE(at + 4) : -1;
  const holds = length >= LEAST && bytes.readInt32LE(at) === -1 && at + PREFIX + length <= end;
  if (!holds) refuse('R042', `metadata.arrow: no message of a possible length at byte ${at}`);
  return bytes.subarray(at + PREFIX, at + PREFIX + length);
}

/** The columns and the blocks of the footer (R042, R045). */
function readFooter(buffer, names) {
  const footer = rootTable(buffer, 'the footer');
  checkVersion(footer.i16(0, 0), 'the footer');
  demand(footer.structs(2, 24).count === 0, 'R045', 'the footer has dictionaries');
  const schema = footer.table(1);
  demand(schema, 'R042', 'metadata.arrow has a footer without a schema');
  const columns = readSchema(schema, names, 'the schema of the footer');
  const blocks = footer.structs(3, 24);
  demand(footer.countOf(4) === 0, 'R045', 'the footer has metadata of its own');
  return { columns, blocks };
}

/** The table that a message is about; of another kind than `kind` it breaks `rule`. */
function headerOf(message, kind, rule, what) {
  checkVersion(message.i16(0, 0), what);
  demand(message.u8(1, 0) === kind, rule, `${what} is of another kind`);
  const header = message.table(2);
  demand(header, 'R042', `${what} has no header`);
  return header;
}

function checkEnd(message, what) {
  demand(message.countOf(4) === 0, 'R045', `${what} has metadata of its own`);
}

/** The columns of the first message (R042, R045). */
function readFirst(buffer, names) {
  const what = 'the first message';
  const message = rootTable(buffer, what);
  const columns = readSchema(headerOf(message, SCHEMA, 'R045', what), names, what);
  checkEnd(message, what);
  return columns;
}

/** All blocks (R042), then their messages (R042, R045), then R043 and R044. */
function readBatches(bytes, blocks, footerStart, samples) {
  const most = Math.ceil(samples / BATCH_ROWS); // a small file can have millions of blocks
  const batches = [];
  let rows = 0n;
  let wrong = false;
  const block = (i) => blocks.bytes.subarray(24 * i, 24 * i + 24);
  for (let i = 0; i < blocks.count; i++) checkBlock(block(i), footerStart);
  for (let i = 0; i < blocks.count; i++) {
    const batch = readBatch(bytes, block(i));
    rows += batch.rows;
    const full = batch.rows === BigInt(BATCH_ROWS);
    wrong ||= !(full || (i === blocks.count - 1 && batch.rows >= 1n && batch.rows < BATCH_ROWS));
    if (i < most) batches.push(batch);
  }
  demand(rows === BigInt(samples), 'R043', `metadata has ${rows} rows for ${samples} samples`);
  demand(!wrong, 'R044', `a batch of metadata but the last has not ${BATCH_ROWS} rows, or has none`);
  return batches;
}

/** Where a block says that its batch lies: {offset, prefix, body}. */
function readBlock(block) {
  const [offset, body] = [block.readBigInt64LE(0), block.readBigInt64LE(16)];
  return { offset, prefix: BigInt(block.readInt32LE(8)), body };
}

function checkBlock(block, footerStart) {
  const bad = (what) => refuse('R042', `metadata.arrow: a block ${what}`);
  const { offset, prefix, body } = readBlock(block);
  if (offset < 8n || prefix < 0n || body < 0n) bad('is negative, or before byte 8');
  if (offset % 8n || prefix % 8n || body % 8n) bad('is no multiple of 8');
  if (offset + prefix + body > BigInt(footerStart)) bad('reaches into the footer');
}

function readBatch(bytes, block) {
  const bad = (what) => refuse('R042', `metadata.arrow: ${what}`);
  const { offset, prefix, body } = readBlock(block);
  const at = Number(offset);
  const start = at + Number(prefix);
  const what = `the message at byte ${at}`;
  const buffer = messageAt(bytes, at, start);
  if (at + PREFIX + buffer.length !== start) bad(`${what} has not the length of its block`);
  const message = rootTable(buffer, what);
  const header = headerOf(message, RECORD_BATCH, 'R042', what);
  const rows = header.i64(0, 0n);
  if (rows < 0n) bad(`${what} has less than no rows`);
  const nodes = header.structs(1, 16);
  const buffers = header.structs(2, 16);
  demand(!header.has(3), 'R045', `${what} is of a batch that is compressed`);
  const counts = header.structs(4, 8);
  if (message.i64(3, 0n) !== body) bad(`${what} and its block have bodies of two lengths`);
  checkEnd(message, what);
  return { rows, nodes, buffers, counts, body: bytes.subarray(start, start + Number(body)) };
}

/** The buffers and values of a batch (R042): adds to each column a function that goes over its values. */
function checkBatch(batch, columns, checked) {
  const bad = (what) => refuse('R042', `a batch of metadata ${what}`);
  const rows = Number(batch.rows);
  if (batch.nodes.count !== columns.length) bad('has not one node per column');
  let nextBuffer = 0;
  let nextCount = 0;
  const buffer = () => {
    if (nextBuffer === batch.buffers.count) bad('has too few buffers');
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
      if (nextCount === batch.counts.count) bad('has too few variadicBufferCounts');
      const count = batch.counts.bytes.readBigInt64LE(8 * nextCount++);
      if (count < 0n) bad(`has ${count} data buffers`);
      for (let k = 0n; k < count; k++) data.push(buffer());
    }
    checked[i].push(checkBatchColumn(type, rows, nulls, { bitmap, values, data, body: batch.body }));
  });
  if (nextBuffer !== batch.buffers.count) bad('has too many buffers');
  if (nextCount !== batch.counts.count) bad('has too many variadicBufferCounts');
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
