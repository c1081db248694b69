// Decode the blocks of a frame: by Node's own zstd where one of them is compressed.

import { constants, zstdDecompressSync } from 'node:zlib';
import { refuse } from './breach.mjs';
import { COMPRESSED, RAW } from './frame.mjs';

const EMPTY_FRAME = Buffer.from('28b52ffd2000010000', 'hex');

/** A dictionary, trained or raw content, that is known to load; else R040. */
export function loadDictionary(body, where) {
  try {
    zstdDecompressSync(EMPTY_FRAME, { dictionary: body });
  } catch (error) {
    if (error.code === 'ERR_ZLIB_INITIALIZATION_FAILED') refuse('R040', `${where}: it does not load`);
    throw error;
  }
  return body;
}

/** The content, `size` bytes, of a frame whose header and blocks were checked; else R037. */
export function decodeBlocks(frame, blocks, size, dictionary, where) {
  if (blocks.every(({ type }) => type !== COMPRESSED)) return copyBlocks(frame, blocks, size, where);
  const params = { [constants.ZSTD_d_windowLogMax]: 31 };
  let content;
  try {
    // One byte more than the size: with room left, zstd writes the content at once into this one buffer.
    const room = { chunkSize: Math.max(64, size + 1), maxOutputLength: size + 1, params };
    content = zstdDecompressSync(frame, dictionary ? { ...room, dictionary } : room);
  } catch (error) {
    const corrupt = error.code === 'ERR_BUFFER_TOO_LARGE' || /^ZSTD_error_(?!memory)/.test(error.code);
    if (corrupt) refuse('R037', `${where}: the frame does not decode (${error.code})`);
    throw error;
  }
  if (content.length !== size) refuse('R037', `${where}: the frame holds ${content.length} bytes`);
  return content;
}

function copyBlocks(frame, blocks, size, where) {
  const total = blocks.reduce((sum, block) => sum + block.size, 0);
  if (total !== size) refuse('R037', `${where}: the frame holds ${total} bytes, not ${size}`);
  const content = Buffer.allocUnsafe(size);
  let at = 0;
  for (const block of blocks) {
    if (block.type === RAW) frame.copy(content, at, block.at, block.at + block.size);
    else content.fill(frame[block.at], at, at + block.size);
    at += block.size;
  }
  return content;
}
