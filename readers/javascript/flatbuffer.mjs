// FlatBuffers, as much as metadata.md needs. What lies outside its buffer, or not where it should, is R042.

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

  refuse(problem) {
    refuse('R042', `${this.what}: ${problem}`);
  }

  /** `at`, if `size` bytes lie there. */
  inside(at, size) {
    if (!(at >= 0 && at + size <= this.bytes.length)) this.refuse('something lies outside');
    return at;
  }

  /** `at`, if a number of `size` bytes may lie there. */
  aligned(at, size) {
    if (at % size !== 0) this.refuse(`a number of ${size} bytes lies at ${at}`);
    return this.inside(at, size);
  }

  u16(at) {
    return this.bytes.readUInt16LE(this.aligned(at, 2));
  }

  i32(at) {
    return this.bytes.readInt32LE(this.aligned(at, 4));
  }

  u32(at) {
    return this.bytes.readUInt32LE(this.aligned(at, 4));
  }

  /** Where the offset at `at` leads. */
  follow(at) {
    const offset = this.u32(at);
    if (offset === 0) this.refuse('an offset leads to its own place');
    return at + offset;
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
    if (this.#vtableSize < 4 || this.#vtableSize % 2) buffer.refuse(`a vtable of ${this.#vtableSize} bytes`);
    buffer.inside(this.#vtable, this.#vtableSize);
  }

  /** Whether a field is there, wherever it leads. */
  has(field) {
    return this.#place(field) !== null;
  }

  u8(field, absent) {
    const at = this.#number(field, 1);
    return at === null ? absent : this.#buffer.bytes[at];
  }

  i16(field, absent) {
    const at = this.#number(field, 2);
    return at === null ? absent : this.#buffer.bytes.readInt16LE(at);
  }

  i32(field, absent) {
    const at = this.#number(field, 4);
    return at === null ? absent : this.#buffer.bytes.readInt32LE(at);
  }

  i64(field, absent) {
    const at = this.#number(field, 8);
    return at === null ? absent : this.#buffer.bytes.readBigInt64LE(at);
  }

  table(field) {
    const at = this.#place(field);
    return at === null ? null : new Table(this.#buffer, this.#buffer.follow(at));
  }

  /** The bytes of a string, behind which a zero lies. */
  text(field) {
    const found = this.#vector(field, 1);
    if (found === null) return null;
    const end = this.#buffer.inside(found.start + found.count, 1);
    if (this.#buffer.bytes[end] !== 0) this.#buffer.refuse('a string has no zero behind it');
    return this.#buffer.bytes.subarray(found.start, end);
  }

  /** The elements of a vector of structs or i64, `size` bytes each: {count, bytes}. Absent is empty. */
  structs(field, size) {
    const { start, count } = this.#vector(field, size) ?? { start: 0, count: 0 };
    const mustAlign = count > 0 || size === 8;
    if (mustAlign && start % 8 !== 0) this.#buffer.refuse(`what a vector holds lies at ${start}`);
    return { count, bytes: this.#buffer.bytes.subarray(start, start + count * size) };
  }

  /** How many elements a vector of tables has, whatever they are. Absent is empty. */
  countOf(field) {
    return this.#vector(field, 4)?.count ?? 0;
  }

  /** A vector of tables, one after the other. */
  *tables(field) {
    const { start, count } = this.#vector(field, 4) ?? { start: 0, count: 0 };
    for (let at = start; at < start + 4 * count; at += 4) {
      yield new Table(this.#buffer, this.#buffer.follow(at));
    }
  }

  /** Where the value of a field should begin, or null if it is absent. */
  #place(field) {
    const slot = 4 + 2 * field;
    const offset = slot + 2 <= this.#vtableSize ? this.#buffer.u16(this.#vtable + slot) : 0;
    return offset === 0 ? null : this.#at + offset;
  }

  #number(field, size) {
    const at = this.#place(field);
    return at === null ? null : this.#buffer.aligned(at, size);
  }

  /** Where the elements of a vector begin, and how many there are, all of them inside. */
  #vector(field, size) {
    const place = this.#place(field);
    if (place === null) return null;
    const at = this.#buffer.follow(place);
    const count = this.#buffer.u32(at);
    return { start: this.#buffer.inside(at + 4, count * size), count };
  }
}
