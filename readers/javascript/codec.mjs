// From stored bytes to a record: frame, dictionary, delta.

import { blake3 } from './blake3.mjs';
import { demand, refuse } from './breach.mjs';
import { checkHeader, walkBlocks } from './frame.mjs';
import { DICTIONARY, openWithHeader } from './header.mjs';
import { HEADER } from './values.mjs';
import { decodeBlocks, loadDictionary } from './zstd.mjs';

/** The decoder of one field. Its dictionary is read once, at the first frame that passes R035 and R036. */
export class Codec {
  #directory;
  #field;
  #dictionary = null;
  #refusal = null; // of the dictionary: it spoils every record of the field

  constructor(directory, field) {
    this.#directory = directory;
    this.#field = field;
  }

  /** The record of `size` bytes that is stored so. */
  decode(stored, size, where) {
    if (this.#field.codec === 'raw') {
      if (stored.length !== size) refuse('R034', `${where}: ${stored.length} raw bytes, not ${size}`);
      return stored;
    }
    const at = checkHeader(stored, size, where);
    const dictionary = this.#field.dictionary ? this.#loaded() : null;
    const record = decodeBlocks(stored, walkBlocks(stored, at, size, where), size, dictionary, where);
    if (this.#field.delta !== undefined) undoDelta(record, this.#field.delta);
    return record;
  }

  #loaded() {
    if (this.#refusal) throw this.#refusal;
    try {
      return (this.#dictionary ??= this.#read());
    } catch (error) {
      if (error.rule) this.#refusal = error;
      throw error;
    }
  }

  #read() {
    const { name, dictionary } = this.#field;
    const path = `fields/${name}/dictionary.bin`;
    const file = openWithHeader(this.#directory, path, DICTIONARY, 0, 0, dictionary);
    try {
      const body = file.read(BigInt(HEADER), dictionary.bytes - HEADER);
      demand(blake3(body) === dictionary.body_blake3, 'R040', `${path}: its body has another digest`);
      return loadDictionary(body, path);
    } finally {
      file.close();
    }
  }
}

/** Every byte was stored as its difference to the one `stride` before. */
function undoDelta(record, stride) {
  for (let i = stride; i < record.length; i++) record[i] += record[i - stride];
}
