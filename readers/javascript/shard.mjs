// A shard file of one field: where records lie (R032), their checksums (R033) and shapes (R034).

import { isUtf8 } from 'node:buffer';
import { Blake3 } from './blake3.mjs';
import { refuse } from './breach.mjs';
import { crc32c } from './crc32c.mjs';
import { ITEMSIZES, recordSize, withinLimit } from './dtypes.mjs';
import { Window } from './files.mjs';
import { FIXED, INDEXED, openWithHeader } from './header.mjs';
import { axesOf, entryOf, HEADER, isFixed, strideOf } from './values.mjs';

const BODY = BigInt(HEADER);
const PIECE = 2 ** 20;

export function shardPath(field, shard) {
  return `fields/${field.name}/${String(shard).padStart(5, '0')}.shard`;
}

/** One shard file, opened for its first use (R030, R031). */
export class Shard {
  #field;
  #codec;
  #file;
  #path;
  #count;
  #key;
  #entry;
  #stride;
  #indexStart;
  #indexBlake3;
  #index;
  #records;
  #tail; // what the checksum covers after the stored bytes: ordinal, shape

  constructor(directory, field, shard, count, codec) {
    const file = field.files[shard];
    const fixed = isFixed(field);
    this.#field = field;
    this.#codec = codec;
    this.#path = shardPath(field, shard);
    this.#count = count;
    this.#entry = entryOf(field);
    this.#stride = fixed ? strideOf(field) : null;
    this.#key = Buffer.from(file.body_blake3, 'hex').readUInt32LE(0);
    this.#indexBlake3 = file.index_blake3;
    this.#file = openWithHeader(directory, this.#path, fixed ? FIXED : INDEXED, this.#entry, count, file);
    this.#indexStart = this.#file.bytes - BigInt(count) * BigInt(this.#entry);
    this.#index = new Window(this.#file, this.#file.bytes);
    this.#records = new Window(this.#file, this.#indexStart);
    this.#tail = Buffer.alloc(8 + 8 * axesOf(field));
  }

  close() {
    this.#file.close();
  }

  /** Record number `ordinal`: {shape, bytes}, every check of a read made in the order of reading.md. */
  record(ordinal) {
    const where = `${this.#path}, record ${ordinal}`;
    const entry = this.#stride === null ? this.#indexed(ordinal, where) : this.#fixed(ordinal);
    const { lo, hi, crc, axes } = entry;
    const stored = this.#records.read(lo, Number(hi - lo));
    this.#tail.writeBigUInt64LE(BigInt(ordinal), 0);
    axes.copy(this.#tail, 8);
    if (((crc32c(this.#tail, crc32c(stored)) ^ this.#key) >>> 0) !== crc) {
      refuse('R033', `${where}: the checksum does not match`);
    }
    const { kind, dtype } = this.#field;
    const itemsize = ITEMSIZES.get(dtype);
    const shape = kind === 'dense' ? this.#field.shape : shapeOf(axes);
    if (!withinLimit(shape, itemsize)) refuse('R034', `${where}: the shape (${shape}) is over the limit`);
    const bytes = this.#codec.decode(stored, recordSize(shape, itemsize), where);
    if (kind === 'text' && !isUtf8(bytes)) refuse('R038', `${where}: the text is no UTF-8`);
    return { shape: shape.map(Number), bytes };
  }

  /** R039, which a reader of whole shards may prove: that lengths could be planned from this index. */
  checkIndex() {
    if (this.#indexBlake3 === undefined) return;
    const hash = new Blake3();
    for (let at = this.#indexStart; at < this.#file.bytes; at += BigInt(PIECE)) {
      const left = Number(this.#file.bytes - at);
      hash.update(this.#file.read(at, Math.min(left, PIECE)));
    }
    if (hash.hex() !== this.#indexBlake3) refuse('R039', `${this.#path}: its index has another digest`);
  }

  #fixed(ordinal) {
    const lo = BODY + BigInt(ordinal) * this.#stride;
    const crc = this.#index.read(this.#indexStart + BigInt(4 * ordinal), 4).readUInt32LE(0);
    return { lo, hi: lo + this.#stride, crc, axes: NO_AXES };
  }

  #indexed(ordinal, where) {
    const before = ordinal === 0 ? 0 : this.#entry; // the entry before begins so many bytes earlier
    const at = this.#indexStart + BigInt(ordinal) * BigInt(this.#entry) - BigInt(before);
    const bytes = this.#index.read(at, before + this.#entry);
    const lo = ordinal === 0 ? BODY : bytes.readBigUInt64LE(0);
    const hi = bytes.readBigUInt64LE(before);
    if (!(BODY <= lo && lo <= hi && hi <= this.#indexStart)) {
      refuse('R032', `${where}: [${lo}, ${hi}) is not in [64, ${this.#indexStart})`);
    }
    return { lo, hi, crc: bytes.readUInt32LE(before + 8), axes: bytes.subarray(before + 12) };
  }
}

const NO_AXES = Buffer.alloc(0);

function shapeOf(axes) {
  const shape = [];
  for (let at = 0; at < axes.length; at += 8) shape.push(axes.readBigUInt64LE(at));
  return shape;
}
