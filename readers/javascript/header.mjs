// The 64 bytes at the start of shards and dictionaries. They are built and compared, never parsed (R031).

import { demand } from './breach.mjs';
import { HEADER } from './values.mjs';

const MAGIC = Buffer.from('89445352540d0a1a', 'hex');
export const FIXED = 1;
export const INDEXED = 2;
export const DICTIONARY = 3;

/** The header that the manifest implies. `file` is the manifest's entry for it. */
function build(type, entry, count, file) {
  const header = Buffer.alloc(HEADER);
  MAGIC.copy(header, 0);
  header.writeUInt16LE(1, 8);
  header.writeUInt16LE(type, 10);
  header.writeUInt32LE(entry, 12);
  header.writeBigUInt64LE(BigInt(count), 16);
  header.writeBigUInt64LE(BigInt(file.bytes) - BigInt(HEADER), 24);
  header.write(file.body_blake3, 32, 'hex');
  return header;
}

/** Open a shard or dictionary for its first use: R030, R031. */
export function openWithHeader(directory, name, type, entry, count, entryOfManifest) {
  const file = directory.open(name, 'R030', entryOfManifest.bytes);
  try {
    const same = file.read(0n, HEADER).equals(build(type, entry, count, entryOfManifest));
    demand(same, 'R031', `${name} has not the header that the manifest implies`);
    return file;
  } catch (error) {
    file.close();
    throw error;
  }
}
