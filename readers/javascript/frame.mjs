// What is checked of a zstd frame before anything is decoded: R035, R036, and the block headers (R037).

import { demand, refuse } from './breach.mjs';

const MAGIC = 0xfd2fb528; // little-endian
const MOST_EXPANSION = 32768;
const LARGEST_WINDOW = 128 * 2 ** 20;
const LARGEST_BLOCK = 128 * 2 ** 10;
export const RAW = 0;
export const RLE = 1;
export const COMPRESSED = 2;
const RESERVED = 3;

/** Check R035 and R036 of a frame for a record of `size` bytes. Returns where its first block begins. */
export function checkHeader(frame, size, where) {
  if (size > MOST_EXPANSION * frame.length) {
    refuse('R035', `${where}: ${size} bytes out of ${frame.length} are more than ${MOST_EXPANSION} times`);
  }
  const bad = (what) => refuse('R036', `${where}: the frame's header ${what}`);
  if (frame.length < 5 || frame.readUInt32LE(0) !== MAGIC) bad('is none of a frame of zstd');
  const descriptor = frame[4];
  if (descriptor & 3) bad('names a dictionary');
  if (descriptor & 4) bad('has the flag of a checksum');
  if (descriptor & 8) bad('has the reserved bit');
  const singleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeAt = singleSegment ? 5 : 6;
  const sizeBytes = singleSegment && sizeFlag === 0 ? 1 : sizeFlag === 0 ? 0 : 1 << sizeFlag;
  if (sizeBytes === 0) bad('has no content size');
  if (frame.length < sizeAt + sizeBytes) bad('is cut');
  if (!singleSegment) {
    const window = (8 + (frame[5] & 7)) * 2 ** (7 + (frame[5] >> 3));
    if (window > LARGEST_WINDOW) bad(`asks for a window of ${window} bytes`);
  }
  const contentSize = sizeBytes === 8
    ? frame.readBigUInt64LE(sizeAt)
    : BigInt(frame.readUIntLE(sizeAt, sizeBytes) + (sizeBytes === 2 ? 256 : 0));
  if (contentSize !== BigInt(size)) bad(`says ${contentSize} bytes, the record has ${size}`);
  return sizeAt + sizeBytes;
}

/**
 * Walk over the blocks from `at` on: the last one ends the frame and the stored bytes, and together they can
 * hold `size` bytes, else R037. Returns a list of {type, at, size}; `size` is what the header says.
 */
export function walkBlocks(frame, at, size, where) {
  const blocks = [];
  let holds = 0;
  for (let last = false; !last; ) {
    if (at + 3 > frame.length) refuse('R037', `${where}: the frame ends without a last block`);
    const header = frame.readUIntLE(at, 3);
    const block = { type: (header >> 1) & 3, at: at + 3, size: header >> 3 };
    if (block.type === RESERVED) refuse('R037', `${where}: a block of the reserved type`);
    last = (header & 1) === 1;
    holds += block.type === COMPRESSED ? LARGEST_BLOCK : block.size;
    at = block.at + (block.type === RLE ? 1 : block.size);
    if (at > frame.length) refuse('R037', `${where}: a block is cut`);
    blocks.push(block);
  }
  demand(at === frame.length, 'R037', `${where}: ${frame.length - at} bytes after the frame`);
  if (holds < size) refuse('R037', `${where}: blocks for at most ${holds} bytes, the record has ${size}`);
  return blocks;
}
