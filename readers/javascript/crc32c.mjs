// CRC-32C (Castagnoli), eight bytes at a time: table k holds what a byte does to the register k bytes later.

const POLYNOMIAL = 0x82f63b78; // reflected

const tables = Array.from({ length: 8 }, () => new Int32Array(256));
for (let byte = 0; byte < 256; byte++) {
  let register = byte;
  for (let bit = 0; bit < 8; bit++) register = (register >>> 1) ^ (register & 1 ? POLYNOMIAL : 0);
  tables[0][byte] = register;
}
for (let k = 1; k < 8; k++) {
  for (let byte = 0; byte < 256; byte++) {
    const before = tables[k - 1][byte];
    tables[k][byte] = (before >>> 8) ^ tables[0][before & 255];
  }
}
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables;

/** CRC-32C of `bytes`, an unsigned number. With `crc`, of what `crc` is of and then `bytes`. */
export function crc32c(bytes, crc = 0) {
  let register = ~crc;
  let at = 0;
  for (const end = bytes.length - 7; at < end; at += 8) {
    register ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    register =
      t7[register & 255] ^ t6[(register >>> 8) & 255] ^ t5[(register >>> 16) & 255] ^ t4[register >>> 24] ^
      t3[bytes[at + 4]] ^ t2[bytes[at + 5]] ^ t1[bytes[at + 6]] ^ t0[bytes[at + 7]];
  }
  for (; at < bytes.length; at++) register = (register >>> 8) ^ t0[(register ^ bytes[at]) & 255];
  return ~register >>> 0;
}
