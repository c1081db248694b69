// One column of one batch of metadata: bitmap, values and views are sound (R042).

import { isUtf8 } from 'node:buffer';
import { refuse } from './breach.mjs';

const SHORT = 12; // bytes that lie in a view itself
const VIEW = 16;
const MOST_TOGETHER = 2 ** 31; // bytes of the strings of a column in a batch, or what its body has
const BITS = [Buffer.of(0), Buffer.of(1)];

function bit(bytes, row) {
  return (bytes[row >> 3] >> (row & 7)) & 1;
}

function bad(what) {
  refuse('R042', `a column of metadata ${what}`);
}

/** Check a column of `rows` rows, and return a function that goes over its values: bytes, or null. */
export function checkBatchColumn(type, rows, nulls, { bitmap, values, data, body }) {
  const isNull = checkBitmap(bitmap, rows, nulls);
  const bits = type.layout === 'bits';
  const needed = bits ? Math.ceil(rows / 8) : rows * type.width;
  if (values.length < needed) bad(`has ${values.length} bytes of values for ${rows} rows`);
  const views = type.layout === 'views';
  if (views && values.length % VIEW !== 0) bad(`has ${values.length} bytes of views`);
  if (views) checkTogether(values, rows, Math.max(MOST_TOGETHER, body.length));

  const place = (row) => values.subarray(row * type.width, (row + 1) * type.width);
  const zero = bits ? (row) => bit(values, row) === 0 : (row) => place(row).every((byte) => byte === 0);
  for (let row = 0; row < rows; row++) {
    if (isNull && isNull(row)) {
      if (!zero(row)) bad(`has something under the null of row ${row}`);
    } else if (views) {
      checkView(values, row * VIEW, data, type.name === 'string');
    } else if (!isNull) break; // numbers and bits without nulls: any value is one
  }

  const value = views
    ? (row) => content(values, row * VIEW, data)
    : bits ? (row) => BITS[bit(values, row)] : place;
  return function* each() {
    for (let row = 0; row < rows; row++) yield isNull && isNull(row) ? null : value(row);
  };
}

/** Which rows are null, as a function; null where none is. The count of nulls must be exact. */
function checkBitmap(bitmap, rows, nulls) {
  if (bitmap.length === 0) {
    if (nulls !== 0n) bad(`says ${nulls} nulls and has no bitmap`);
    return null;
  }
  if (bitmap.length < Math.ceil(rows / 8)) bad(`has a bitmap of ${bitmap.length} bytes for ${rows} rows`);
  let zeros = 0;
  for (let row = 0; row < rows; row++) zeros += 1 - bit(bitmap, row);
  if (nulls !== BigInt(zeros)) bad(`says ${nulls} nulls, its bitmap has ${zeros}`);
  return zeros === 0 ? null : (row) => bit(bitmap, row) === 0;
}

/** Views may overlap, and do not stand for strings of any length together. */
function checkTogether(values, rows, most) {
  let together = 0;
  for (let row = 0; row < rows; row++) together += values.readUInt32LE(row * VIEW);
  if (together > most) bad(`has strings of ${together} bytes together in a batch, ${most} are allowed`);
}

function checkView(values, at, data, isText) {
  const length = values.readInt32LE(at);
  if (length < 0) bad(`has a view of length ${length}`);
  if (length <= SHORT) {
    for (let i = at + 4 + length; i < at + VIEW; i++) {
      if (values[i] !== 0) bad('has a short view that is not padded with zeros');
    }
  } else {
    const number = values.readInt32LE(at + 8);
    const offset = values.readInt32LE(at + 12);
    if (number < 0 || number >= data.length) bad(`has a view into data buffer ${number} of ${data.length}`);
    const buffer = data[number];
    if (offset < 0 || offset + length > buffer.length) bad('has a view beyond the end of its data buffer');
    if (values.readInt32LE(at + 4) !== buffer.readInt32LE(offset)) bad('has a view with other first bytes');
  }
  if (isText && !isUtf8(content(values, at, data))) bad('has a string that is no UTF-8');
}

/** What a view that was checked stands for. */
function content(values, at, data) {
  const length = values.readInt32LE(at);
  if (length <= SHORT) return values.subarray(at + 4, at + 4 + length);
  const offset = values.readInt32LE(at + 12);
  return data[values.readInt32LE(at + 8)].subarray(offset, offset + length);
}
