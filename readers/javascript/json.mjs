// Strict JSON (R004): proves that bytes are one object as manifest.md wants it, and builds nothing, so that a
// hostile file of 64 MiB costs no memory but for the keys of open objects. cursor.mjs takes values from it.

import { isUtf8 } from 'node:buffer';
import { refuse } from './breach.mjs';

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const MOST_LEVELS = 64;
const LARGEST_INT = 2n ** 63n - 1n;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

export function isBlank(byte) {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isNumeric(byte) {
  const digit = byte >= 0x30 && byte <= 0x39;
  return digit || byte === 0x2d || byte === 0x2b || byte === 0x2e || (byte | 0x20) === 0x65; // - + . e E
}

/** Prove that `bytes` are one strict JSON object, else R004. Returns where each value begins, by key. */
export function checkObject(bytes) {
  const bad = (what) => refuse('R004', `manifest.json is no strict JSON: ${what} near byte ${at}`);
  let at = 0;
  if (!isUtf8(bytes)) bad('no UTF-8');
  const members = new Map();
  blanks();
  if (bytes[at] !== OPEN_OBJECT) bad('no object');
  object(1, members);
  blanks();
  if (at !== bytes.length) bad('something after the object');
  return members;

  function blanks() {
    while (isBlank(bytes[at])) at++;
  }

  function value(level) {
    const byte = bytes[at];
    if (byte === QUOTE) string();
    else if (byte === OPEN_OBJECT) object(level);
    else if (byte === OPEN_LIST) list(level);
    else if (byte === 0x74) word('true');
    else if (byte === 0x66) word('false');
    else if (byte === 0x6e) word('null');
    else number();
  }

  /** Recursion is safe: it ends at level 64. */
  function object(level, starts = null) {
    if (level > MOST_LEVELS) bad('more than 64 levels');
    at++;
    blanks();
    if (bytes[at] === CLOSE_OBJECT) return void at++;
    const keys = starts ?? new Set();
    for (;;) {
      if (bytes[at] !== QUOTE) bad('no key');
      const begin = at;
      const key = string() ? JSON.parse(bytes.utf8Slice(begin, at)) : bytes.utf8Slice(begin + 1, at - 1);
      if (keys.has(key)) bad('a key that occurs twice');
      blanks();
      if (bytes[at++] !== COLON) bad('no colon');
      blanks();
      if (starts) starts.set(key, at);
      else keys.add(key);
      value(level + 1);
      blanks();
      const next = bytes[at++];
      if (next === CLOSE_OBJECT) return;
      if (next !== COMMA) bad('no comma');
      blanks();
    }
  }

  function list(level) {
    if (level > MOST_LEVELS) bad('more than 64 levels');
    at++;
    blanks();
    if (bytes[at] === CLOSE_LIST) return void at++;
    for (;;) {
      blanks();
      value(level + 1);
      blanks();
      const next = bytes[at++];
      if (next === CLOSE_LIST) return;
      if (next !== COMMA) bad('no comma');
    }
  }

  /** Pass a string; true if it holds an escape. */
  function string() {
    let escaped = false;
    for (at++; ; at++) {
      const byte = bytes[at];
      if (byte === QUOTE) break;
      if (byte === undefined || byte < 0x20) bad('a control character in a string, or its end is missing');
      if (byte === BACKSLASH) {
        escaped = true;
        escape();
      }
    }
    at++;
    return escaped;
  }

  /** Pass an escape but for its last byte. */
  function escape() {
    const byte = bytes[++at];
    if (byte !== 0x75) {
      if (byte === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(byte))) bad('an unknown escape');
      return;
    }
    const unit = hex4();
    if (unit < 0xd800 || unit > 0xdfff) return;
    const paired = unit <= 0xdbff && bytes[at + 1] === BACKSLASH && bytes[at + 2] === 0x75;
    if (paired) at += 2;
    const low = paired ? hex4() : 0;
    if (low < 0xdc00 || low > 0xdfff) bad('half of a pair of surrogates');
  }

  /** The number of four hexadecimal digits after this place. */
  function hex4() {
    const digits = bytes.latin1Slice(at + 1, Math.min(at + 5, bytes.length));
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) bad('an escape without four digits');
    at += 4;
    return parseInt(digits, 16);
  }

  function word(text) {
    if (bytes.latin1Slice(at, Math.min(at + text.length, bytes.length)) !== text) bad('an unknown word');
    at += text.length;
  }

  function number() {
    const begin = at;
    while (isNumeric(bytes[at])) at++;
    const token = bytes.latin1Slice(begin, at);
    NUMBER.lastIndex = 0;
    if (token === '' || !NUMBER.test(token) || NUMBER.lastIndex !== token.length) bad('no value');
    if (/[.eE]/.test(token)) {
      if (!Number.isFinite(Number(token))) bad('a number that is no finite double');
      return;
    }
    // No BigInt is made of more than 20 letters: millions of digits would take time that is not linear.
    if (token === '-0' || token.length > 20) bad('an integer that is -0 or out of range');
    const exact = BigInt(token);
    if (exact > LARGEST_INT || exact < -LARGEST_INT) bad('an integer that is -0 or out of range');
  }
}
