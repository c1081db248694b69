// The dtypes, and how large a record may be.

export const ITEMSIZES = new Map([
  ['bool', 1], ['int8', 1], ['int16', 2], ['int32', 4], ['int64', 8],
  ['uint8', 1], ['uint16', 2], ['uint32', 4], ['uint64', 8],
  ['float16', 2], ['float32', 4], ['float64', 8], ['bfloat16', 2],
  ['float8_e4m3fn', 1], ['float8_e5m2', 1], ['complex64', 8], ['complex128', 16],
]);

const LARGEST_RECORD = 2 ** 48; // bytes

/**
 * Whether the axes that are not 0, and the itemsize, have a product within the limit of a record. Axes are
 * numbers or BigInts. Doubles suffice: each factor is at most 2^48 when it is multiplied, and a product that
 * a double rounds is over the limit by far.
 */
export function withinLimit(shape, itemsize) {
  let product = itemsize;
  for (const axis of shape) {
    if (axis > LARGEST_RECORD) return false;
    if (axis > 0) product *= Number(axis);
    if (product > LARGEST_RECORD) return false;
  }
  return true;
}

/** Bytes of a record with this shape, which is within the limit. */
export function recordSize(shape, itemsize) {
  return shape.reduce((product, axis) => product * Number(axis), itemsize);
}
