// A cache: the directory, its manifest, and the files that the manifest implies.

import { demand } from './breach.mjs';
import { Codec } from './codec.mjs';
import { Directory } from './files.mjs';
import { LARGEST_MANIFEST, readManifest } from './manifest.mjs';
import { readMetadata } from './metadata.mjs';
import { Shard, shardPath } from './shard.mjs';

/** An open cache. To open it takes time by its number of files, and reads the manifest only. */
export class Cache {
  #directory;

  constructor(path) {
    this.#directory = new Directory(path);
    this.manifest = readManifest(this.#manifestBytes());
    this.#lookAtFiles();
  }

  get length() {
    return this.manifest.samples;
  }

  /** The id of the cache: the first 8 bytes of its digest without their highest bit. */
  get id() {
    return BigInt.asUintN(63, BigInt(`0x${this.manifest.digest.slice(0, 16)}`));
  }

  /** The shards of a field: {first, count, open()}, the first sample and the number of samples. */
  *shards(field) {
    const codec = new Codec(this.#directory, field);
    let first = 0;
    for (const [number, count] of this.manifest.shards.entries()) {
      yield { first, count, open: () => new Shard(this.#directory, field, number, count, codec) };
      first += count;
    }
  }

  /** The columns of the metadata, proven and checked. */
  columns() {
    return this.manifest.metadata ? readMetadata(this.#directory, this.manifest) : [];
  }

  #manifestBytes() {
    const name = 'manifest.json';
    const file = this.#directory.open(name, 'R000', null);
    try {
      demand(file.bytes <= LARGEST_MANIFEST, 'R001', `${name} has ${file.bytes} bytes, over 64 MiB`);
      return file.read(0n, Number(file.bytes));
    } finally {
      file.close();
    }
  }

  /** R030 for everything that the manifest implies, in the order of reading.md. */
  #lookAtFiles() {
    const { fields, metadata } = this.manifest;
    for (const field of fields) {
      const { name, dictionary, files } = field;
      if (dictionary) this.#directory.look(`fields/${name}/dictionary.bin`, 'R030', dictionary.bytes);
      files.forEach((file, shard) => this.#directory.look(shardPath(field, shard), 'R030', file.bytes));
    }
    if (metadata) this.#directory.look('metadata.arrow', 'R030', metadata.bytes);
  }
}
