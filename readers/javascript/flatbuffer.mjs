// FlatBuffers, as much as metadata.md needs. Whatever lies outside its buffer is R042.

import { refuse } from './breach.mjs';

/** The root table of a buffer. `what` names the buffer in messages. */
export function rootTable(bytes, what) {
  const buffer = new FlatBuffer(bytes, what);
  return new Table(buffer, buffer.u32(0));
}

class FlatBuffer {
  constructor(bytes, what) {
    this.bytes = bytes;
    this.what = what;
  }

  /** `at`, if `size` bytes lie there. */
  inside(at, size) {
    if (!(at >= 0 && at + size <= this.bytes.length)) refuse('R042', `${this.what}: something lies outside`);
    return at;
  }

  u16(at) {
    return this.bytes.readUInt16LE(this.inside(at, 2));
  }

  i32(at) {
    return this.bytes.readInt32LE(this.inside(at, 4));
  }

  u32(at) {
    return this.bytes.readUInt32LE(this.inside(at, 4));
  }
}

/** A table. Fields are asked for by number, and absent ones are null or the given default. */
export class Table {
  #buffer;
  #at;
  #vtable;
  #vtableSize;

  constructor(buffer, at) {
    this.#buffer = buffer;
    this.#at = at;
    this.#vtable = at - buffer.i32(at);
    this.#vtableSize = buffer.u16(this.#vtable);
    if (this.#vtableSize < 4) refuse('R042', `${buffer.what}: a vtable of ${this.#vtableSize} bytes`);
    buffer.inside(this.#vtable, this.#vtableSize);
  }

  has(field) {
    return this.#place(field, 0) !== null;
  }

  u8(field, absent) {
    const at = this.#place(field, 1);
    return at === null ? absent : this.#buffer.bytes[at];
  }

  i16(field, absent) {
    const at = this.#place(field, 2);
    return at === null ? absent : this.#buffer.bytes.readInt16LE(at);
  }

  i32(field, absent) {
    const at = this.#place(field, 4);
    return at === null ? absent : this.#buffer.bytes.readInt32LE(at);
  }

  i64(field, absent) {
    const at = this.#place(field, 8);
    return at === null ? absent : this.#buffer.bytes.readBigInt64LE(at);
  }

  table(field) {
    const at = this.#target(field);
    return at === null ? null : new Table(this.#buffer, at);
  }

  /** The elements of a vector, `size` bytes each: {count, bytes}. */
  vector(field, size) {
    const at = this.#target(field);
    if (at === null) return null;
    const count = this.#buffer.u32(at);
    this.#buffer.inside(at + 4, count * size);
    return { count, bytes: this.#buffer.bytes.subarray(at + 4, at + 4 + count * size) };
  }

  /** How many elements a vector says it has, whatever they are; 0 if it is absent. */
  countOf(field) {
    const at = this.#target(field);
    return at === null ? 0 : this.#buffer.u32(at);
  }

  /** A vector of tables: how many, and one after the other. */
  *tables(field) {
    const at = this.#target(field);
    if (at === null) return;
    const count = this.#buffer.u32(at);
    this.#buffer.inside(at + 4, 4 * count);
    for (let place = at + 4; place < at + 4 + 4 * count; place += 4) {
      yield new Table(this.#buffer, place + this.#buffer.u32(place));
    }
  }

  /** Where the value of a field begins, if it is there; `size` bytes of it are in the buffer. */
  #place(field, size) {
    const slot = 4 + 2 * field;
    const offset = slot + 2 <= this.#vtableSize ? this.#buffer.u16(this.#vtable + slot) : 0;
    return offset === 0 ? null : this.#buffer.inside(this.#at + offset, size);
  }

  /** Where the table or vector begins to which a field points. */
  #target(field) {
    const at = this.#place(field, 4);
    return at === null ? null : at + this.#buffer.u32(at);
  }
}
