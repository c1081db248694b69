// Lines of the protocol for programs, and the digests that may stand for all records or values.

import { writeSync } from 'node:fs';
import { Blake3 } from './blake3.mjs';

const MOST_HELD = 4 * 2 ** 20; // letters of output that are held back before a digest takes their place
const PIECE = 2 ** 20;

/** Write all of a text to the standard output. A full pipe that does not block is tried again. */
function write(text) {
  const bytes = Buffer.from(text, 'utf8');
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/** Gathers lines and writes them in pieces. */
export class Output {
  #held = '';

  line(object) {
    this.text(`${JSON.stringify(object)}\n`);
  }

  text(text) {
    this.#held += text;
    if (this.#held.length >= PIECE) this.flush();
  }

  /** The line of a record, whose hex may be larger than a string can be. */
  record(field, sample, { shape, bytes }) {
    this.text(`${JSON.stringify({ field, sample, shape }).slice(0, -1)},"hex":"`);
    for (let at = 0; at < bytes.length; at += PIECE) this.text(bytes.toString('hex', at, at + PIECE));
    this.text('"}\n');
  }

  flush() {
    write(this.#held);
    this.#held = '';
  }
}

/** Of records or values in order: what is to be printed of each, if it is little, and the digest of all. */
export class Gathered {
  #hash = new Blake3();
  #number = Buffer.alloc(8);
  held = []; // null as soon as it is too much
  #letters = 0;

  /** `bytes` null is a null. `hold()` makes what is to be printed, as long as that is held. */
  add(shape, bytes, hold) {
    for (const axis of shape) this.#u64(BigInt(axis));
    if (bytes === null) {
      this.#u64(2n ** 64n - 1n);
    } else {
      this.#u64(BigInt(bytes.length));
      this.#hash.update(bytes);
    }
    this.#letters += 64 + 2 * (bytes?.length ?? 0);
    if (this.#letters > MOST_HELD) this.held = null;
    this.held?.push(hold());
  }

  digest() {
    return this.#hash.hex();
  }

  #u64(value) {
    this.#number.writeBigUInt64LE(value);
    this.#hash.update(this.#number);
  }
}
