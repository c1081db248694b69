// R007 to R021: what the values of a manifest must be. The one to report is that with the lowest number,
// so the rules are tried one after the other, each over the whole manifest.

import { cut, demand } from './breach.mjs';
import { ITEMSIZES, withinLimit } from './dtypes.mjs';

export const CHUNK = 4 * 2 ** 20; // of metadata.arrow
export const HEADER = 64;
const MOST_SAMPLES = 2 ** 20; // of a shard
const KINDS = ['dense', 'ragged', 'bytes', 'text'];
const CODECS = ['raw', 'zstd', 'zstd-dict'];
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/;
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/i;
const RESERVED = /^_|^(cache_id|sample_id|weight)$/; // for fields

function legal(name) {
  return NAME.test(name) && !DEVICE.test(name);
}

/** Axes of an entry of the index. */
export function axesOf(field) {
  return field.kind === 'dense' ? 0 : field.kind === 'ragged' ? field.ndim : 1;
}

export function isFixed(field) {
  return field.kind === 'dense' && field.codec === 'raw';
}

/** Bytes of an entry of the index. */
export function entryOf(field) {
  return isFixed(field) ? 4 : 12 + 8 * axesOf(field);
}

/** Bytes of a record of a fixed shard. */
export function strideOf(field) {
  return field.shape.reduce((product, axis) => product * BigInt(axis), BigInt(ITEMSIZES.get(field.dtype)));
}

/** Refuse a manifest, which passed R006, by the lowest of R007 to R021 that it breaks. */
export function checkValues(manifest) {
  const { fields, shards, metadata } = manifest;
  const each = (rule, holds, what) => {
    for (const field of fields) {
      demand(holds(field), rule, `field ${cut(field.name)}: ${what}`);
    }
  };
  demand(legal(manifest.name), 'R007', `the cache's name ${cut(manifest.name)} is not legal`);
  each('R007', ({ name }) => legal(name) && !RESERVED.test(name), 'the name is not legal');
  const names = new Set(fields.map(({ name }) => name.toLowerCase()));
  demand(names.size === fields.length, 'R008', 'two fields have names that differ at most in case');
  const wrong = shards.findIndex((count) => !(count >= 1 && count <= MOST_SAMPLES));
  demand(wrong === -1, 'R010', `shard ${wrong} has ${shards[wrong]} samples, expected 1 to ${MOST_SAMPLES}`);
  const sum = shards.reduce((total, count) => total + count, 0);
  demand(manifest.samples === sum, 'R011', `samples is ${manifest.samples}, its shards have ${sum}`);
  if (metadata) checkMetadata(metadata);
  demand(fields.length >= 1 && fields.length <= 256, 'R013', `${fields.length} fields, expected 1 to 256`);
  each('R014', ({ kind }) => KINDS.includes(kind), 'the kind is unknown');
  each('R015', ({ codec }) => CODECS.includes(codec), 'the codec is unknown');
  each('R016', dtypeHolds, 'the dtype is unknown, or not uint8 for bytes or text');
  each('R017', deltaHolds, 'delta is not 1 to 255, or dtype or codec does not allow it');
  each('R018', shapeHolds, 'the shape is out of range');
  each('R019', dictionaryHolds, 'the dictionary has not 72 to 1,048,640 bytes');
  each('R020', ({ files }) => files.length === shards.length, `there are not ${shards.length} files`);
  for (const field of fields) checkLengths(field, shards);
}

function checkMetadata({ bytes, chunks }) {
  const expected = (BigInt(bytes) + BigInt(CHUNK) - 1n) / BigInt(CHUNK);
  const holds = bytes >= 1 && BigInt(chunks.length) === expected;
  demand(holds, 'R012', `metadata has ${bytes} bytes and ${chunks.length} chunks`);
}

function dtypeHolds({ dtype, kind }) {
  return ITEMSIZES.has(dtype) && (dtype === 'uint8' || kind === 'dense' || kind === 'ragged');
}

function deltaHolds({ delta, dtype, codec }) {
  return delta === undefined || (delta >= 1 && delta <= 255 && dtype === 'uint8' && codec !== 'raw');
}

function dictionaryHolds({ dictionary }) {
  return dictionary === undefined || (dictionary.bytes >= 72 && dictionary.bytes <= HEADER + 2 ** 20);
}

function shapeHolds({ kind, shape, ndim, dtype }) {
  if (kind === 'ragged') return ndim >= 1 && ndim <= 31;
  if (kind !== 'dense') return true;
  return shape.length <= 31 && shape.every((axis) => axis >= 0) && withinLimit(shape, ITEMSIZES.get(dtype));
}

/** R021, with BigInts: count × stride can exceed 2^64. */
function checkLengths(field, shards) {
  const fixed = isFixed(field);
  const entry = BigInt(entryOf(field));
  const stride = fixed ? strideOf(field) : null;
  field.files.forEach((file, shard) => {
    const count = BigInt(shards[shard]);
    const indexStart = BigInt(file.bytes) - count * entry;
    const holds = fixed
      ? indexStart === 64n + ((count * stride + 7n) / 8n) * 8n
      : indexStart >= 64n && indexStart % 8n === 0n;
    demand(holds, 'R021', `field ${field.name}, shard ${shard}: a file of ${file.bytes} bytes cannot be`);
  });
}
