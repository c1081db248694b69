// BLAKE3, the plain hash with 32 bytes of output, after its specification (O'Connor, Aumasson, Neves,
// Wilcox-O'Hearn). Pieces may be given one after the other.

const IV = Int32Array.of(
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
);
const CHUNK_START = 1;
const CHUNK_END = 2;
const PARENT = 4;
const ROOT = 8;
const CHUNK = 1024;
const BLOCK = 64;

// S[16·round + i]: which word of the block stands at place i in that round.
const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const S = new Uint8Array(112);
for (let i = 0; i < 16; i++) S[i] = i;
for (let i = 16; i < 112; i++) S[i] = S[i - 16 - (i % 16) + PERMUTATION[i % 16]];

/** h = compress(h, m, t, length, flags), in place. The state is 16 locals: an array is far slower. */
function compress(h, m, t, length, flags) {
  let v0 = h[0], v1 = h[1], v2 = h[2], v3 = h[3];
  let v4 = h[4], v5 = h[5], v6 = h[6], v7 = h[7];
  let v8 = 0x6a09e667, v9 = 0xbb67ae85 | 0, v10 = 0x3c6ef372, v11 = 0xa54ff53a | 0;
  let v12 = t | 0, v13 = Math.floor(t / 2 ** 32) | 0, v14 = length, v15 = flags;
  for (let r = 0; r < 112; r += 16) {
    v0 = (v0 + v4 + m[S[r + 0]]) | 0; v12 ^= v0; v12 = (v12 >>> 16) | (v12 << 16);
    v8 = (v8 + v12) | 0; v4 ^= v8; v4 = (v4 >>> 12) | (v4 << 20);
    v0 = (v0 + v4 + m[S[r + 1]]) | 0; v12 ^= v0; v12 = (v12 >>> 8) | (v12 << 24);
    v8 = (v8 + v12) | 0; v4 ^= v8; v4 = (v4 >>> 7) | (v4 << 25);
    v1 = (v1 + v5 + m[S[r + 2]]) | 0; v13 ^= v1; v13 = (v13 >>> 16) | (v13 << 16);
    v9 = (v9 + v13) | 0; v5 ^= v9; v5 = (v5 >>> 12) | (v5 << 20);
    v1 = (v1 + v5 + m[S[r + 3]]) | 0; v13 ^= v1; v13 = (v13 >>> 8) | (v13 << 24);
    v9 = (v9 + v13) | 0; v5 ^= v9; v5 = (v5 >>> 7) | (v5 << 25);
    v2 = (v2 + v6 + m[S[r + 4]]) | 0; v14 ^= v2; v14 = (v14 >>> 16) | (v14 << 16);
    v10 = (v10 + v14) | 0; v6 ^= v10; v6 = (v6 >>> 12) | (v6 << 20);
    v2 = (v2 + v6 + m[S[r + 5]]) | 0; v14 ^= v2; v14 = (v14 >>> 8) | (v14 << 24);
    v10 = (v10 + v14) | 0; v6 ^= v10; v6 = (v6 >>> 7) | (v6 << 25);
    v3 = (v3 + v7 + m[S[r + 6]]) | 0; v15 ^= v3; v15 = (v15 >>> 16) | (v15 << 16);
    v11 = (v11 + v15) | 0; v7 ^= v11; v7 = (v7 >>> 12) | (v7 << 20);
    v3 = (v3 + v7 + m[S[r + 7]]) | 0; v15 ^= v3; v15 = (v15 >>> 8) | (v15 << 24);
    v11 = (v11 + v15) | 0; v7 ^= v11; v7 = (v7 >>> 7) | (v7 << 25);
    v0 = (v0 + v5 + m[S[r + 8]]) | 0; v15 ^= v0; v15 = (v15 >>> 16) | (v15 << 16);
    v10 = (v10 + v15) | 0; v5 ^= v10; v5 = (v5 >>> 12) | (v5 << 20);
    v0 = (v0 + v5 + m[S[r + 9]]) | 0; v15 ^= v0; v15 = (v15 >>> 8) | (v15 << 24);
    v10 = (v10 + v15) | 0; v5 ^= v10; v5 = (v5 >>> 7) | (v5 << 25);
    v1 = (v1 + v6 + m[S[r + 10]]) | 0; v12 ^= v1; v12 = (v12 >>> 16) | (v12 << 16);
    v11 = (v11 + v12) | 0; v6 ^= v11; v6 = (v6 >>> 12) | (v6 << 20);
    v1 = (v1 + v6 + m[S[r + 11]]) | 0; v12 ^= v1; v12 = (v12 >>> 8) | (v12 << 24);
    v11 = (v11 + v12) | 0; v6 ^= v11; v6 = (v6 >>> 7) | (v6 << 25);
    v2 = (v2 + v7 + m[S[r + 12]]) | 0; v13 ^= v2; v13 = (v13 >>> 16) | (v13 << 16);
    v8 = (v8 + v13) | 0; v7 ^= v8; v7 = (v7 >>> 12) | (v7 << 20);
    v2 = (v2 + v7 + m[S[r + 13]]) | 0; v13 ^= v2; v13 = (v13 >>> 8) | (v13 << 24);
    v8 = (v8 + v13) | 0; v7 ^= v8; v7 = (v7 >>> 7) | (v7 << 25);
    v3 = (v3 + v4 + m[S[r + 14]]) | 0; v14 ^= v3; v14 = (v14 >>> 16) | (v14 << 16);
    v9 = (v9 + v14) | 0; v4 ^= v9; v4 = (v4 >>> 12) | (v4 << 20);
    v3 = (v3 + v4 + m[S[r + 15]]) | 0; v14 ^= v3; v14 = (v14 >>> 8) | (v14 << 24);
    v9 = (v9 + v14) | 0; v4 ^= v9; v4 = (v4 >>> 7) | (v4 << 25);
  }
  h[0] = v0 ^ v8; h[1] = v1 ^ v9; h[2] = v2 ^ v10; h[3] = v3 ^ v11;
  h[4] = v4 ^ v12; h[5] = v5 ^ v13; h[6] = v6 ^ v14; h[7] = v7 ^ v15;
}

function parent(left, right, flags) {
  const block = new Int32Array(16);
  block.set(left, 0);
  block.set(right, 8);
  const h = IV.slice();
  compress(h, block, 0, BLOCK, PARENT | flags);
  return h;
}

/** A hash that takes its input in pieces: `update(bytes)` any number of times, then `hex()` once. */
export class Blake3 {
  #h = IV.slice(); // of the chunk that is being read
  #block = new Uint8Array(BLOCK); // its block, kept back until more comes: the last one is flagged
  #words = new Int32Array(16);
  #filled = 0; // bytes in the block
  #blocks = 0; // blocks of the chunk that are compressed
  #chunks = 0; // chunks that are finished
  #stack = []; // roots of finished subtrees, the largest first: one per bit that is set in #chunks

  update(bytes) {
    let at = 0;
    while (at < bytes.length) {
      if (this.#filled === BLOCK) this.#finishBlock();
      if (this.#filled === 0 && bytes.length - at > BLOCK) {
        at = this.#wholeBlocks(bytes, at);
      } else {
        const take = Math.min(BLOCK - this.#filled, bytes.length - at);
        for (let i = 0; i < take; i++) this.#block[this.#filled + i] = bytes[at + i];
        this.#filled += take;
        at += take;
      }
    }
    return this;
  }

  hex() {
    this.#block.fill(0, this.#filled);
    this.#load(this.#block, 0);
    const flags = (this.#blocks === 0 ? CHUNK_START : 0) | CHUNK_END;
    compress(this.#h, this.#words, this.#chunks, this.#filled, flags | (this.#stack.length ? 0 : ROOT));
    let root = this.#h;
    while (this.#stack.length) {
      const left = this.#stack.pop();
      root = parent(left, root, this.#stack.length ? 0 : ROOT);
    }
    const out = Buffer.alloc(32);
    root.forEach((word, i) => out.writeInt32LE(word, 4 * i));
    return out.toString('hex');
  }

  /** Compress blocks straight from the input, all but the last one, which may be the end of everything. */
  #wholeBlocks(bytes, at) {
    while (bytes.length - at > BLOCK) {
      this.#load(bytes, at);
      at += BLOCK;
      this.#compressBlock();
    }
    return at;
  }

  #finishBlock() {
    this.#load(this.#block, 0);
    this.#filled = 0;
    this.#compressBlock();
  }

  /** Compress a full block that is not the last of the input. */
  #compressBlock() {
    const last = this.#blocks === CHUNK / BLOCK - 1;
    const flags = (this.#blocks === 0 ? CHUNK_START : 0) | (last ? CHUNK_END : 0);
    compress(this.#h, this.#words, this.#chunks, BLOCK, flags);
    this.#blocks++;
    if (last) this.#finishChunk();
  }

  #finishChunk() {
    let node = this.#h;
    this.#chunks++;
    // Two subtrees of one size are joined as soon as it is known that more follows, as it is here.
    for (let n = this.#chunks; n % 2 === 0; n /= 2) node = parent(this.#stack.pop(), node, 0);
    this.#stack.push(node);
    this.#h = IV.slice();
    this.#blocks = 0;
  }

  #load(bytes, at) {
    const words = this.#words;
    for (let i = 0; i < 16; i++, at += 4) {
      words[i] = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    }
  }
}

/** BLAKE3 of one piece, 64 hexadecimal digits. */
export function blake3(bytes) {
  return new Blake3().update(bytes).hex();
}
