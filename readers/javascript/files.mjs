// Opening and reading files: relative to the directory that was opened, without blocking, regular ones only.

import {
  closeSync, constants, existsSync, fstatSync, openSync, readSync, statSync,
} from 'node:fs';
import { demand, refuse } from './breach.mjs';

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ENXIO', 'ENODEV']);

/** Do `action`. That the name is missing or of no use is a breach; other errors of the system are not. */
function absentIs(rule, name, action) {
  try {
    return action();
  } catch (error) {
    if (ABSENT.has(error.code)) refuse(rule, `${name} is missing or no regular file (${error.code})`);
    throw error;
  }
}

/** A directory that was opened once. */
export class Directory {
  #base;

  constructor(path) {
    const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0);
    this.fd = absentIs('R000', 'the cache', () => openSync(path, flags));
    // Node has no openat. Linux names an open directory in /proc; elsewhere the path has to do.
    const handle = `/proc/self/fd/${this.fd}`;
    this.#base = existsSync(handle) ? handle : path;
  }

  /** Look at a file: there, regular, and `bytes` long unless that is null. */
  look(name, rule, bytes) {
    check(absentIs(rule, name, () => statSync(`${this.#base}/${name}`, { bigint: true })), name, rule, bytes);
  }

  /** Open a file that is as `look` wants it; looked at before, because to open a device can do something. */
  open(name, rule, bytes) {
    this.look(name, rule, bytes);
    const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
    const fd = absentIs(rule, name, () => openSync(`${this.#base}/${name}`, flags));
    try {
      return new File(fd, name, check(fstatSync(fd, { bigint: true }), name, rule, bytes));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }
}

function check(stat, name, rule, bytes) {
  demand(stat.isFile(), rule, `${name} is no regular file`);
  if (bytes !== null && stat.size !== BigInt(bytes)) {
    refuse(rule, `${name} has ${stat.size} bytes, the manifest says ${bytes}`);
  }
  return stat.size;
}

/** An open file of a known length. Places in it are BigInts: a sparse file can be longer than 2^53. */
export class File {
  constructor(fd, name, bytes) {
    this.fd = fd;
    this.name = name;
    this.bytes = bytes;
  }

  /** The `length` bytes from `at` on. A file that has become shorter is R030. */
  read(at, length) {
    const buffer = Buffer.allocUnsafe(length);
    for (let done = 0; done < length; ) {
      const got = readSync(this.fd, buffer, done, Math.min(length - done, 2 ** 30), at + BigInt(done));
      if (got === 0) refuse('R030', `${this.name} has become shorter while it was read`);
      done += got;
    }
    return buffer;
  }

  close() {
    closeSync(this.fd);
  }
}

const PIECE = 2 ** 18;

/** A part of a file, [from, to), that is read in pieces: most records are far smaller than a good read is. */
export class Window {
  #file;
  #to;
  #at = 0n;
  #bytes = Buffer.alloc(0);

  constructor(file, to) {
    this.#file = file;
    this.#to = to;
  }

  /** The `length` bytes from `at` on, within the part; a view that stays as it is. */
  read(at, length) {
    const start = Number(at - this.#at);
    const held = start >= 0 && start + length <= this.#bytes.length;
    if (held) return this.#bytes.subarray(start, start + length);
    if (length >= PIECE) return this.#file.read(at, length);
    const left = this.#to - at;
    this.#bytes = this.#file.read(at, left < PIECE ? Number(left) : PIECE);
    this.#at = at;
    return this.#bytes.subarray(0, length);
  }
}
