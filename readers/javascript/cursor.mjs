// A walk over JSON that json.mjs has proven: the caller asks what is at the cursor, and takes it.

import {
  BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, isBlank, OPEN_LIST, OPEN_OBJECT, QUOTE,
} from './json.mjs';

/** An integer token: a number where a double holds it, else a BigInt. Both compare with `<` alike. */
function integer(token) {
  const value = Number(token);
  return Number.isSafeInteger(value) ? value : BigInt(token);
}

/** A place in bytes that `checkObject` accepted. */
export class Cursor {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  /** What stands here: `string`, `object`, `list`, `int`, `float`, `true`, `false` or `null`. */
  type() {
    const byte = this.#skipBlanks();
    if (byte === QUOTE) return 'string';
    if (byte === OPEN_OBJECT) return 'object';
    if (byte === OPEN_LIST) return 'list';
    if (byte === 0x74) return 'true';
    if (byte === 0x66) return 'false';
    if (byte === 0x6e) return 'null';
    return /[.eE]/.test(this.bytes.latin1Slice(this.at, this.#endOfScalar())) ? 'float' : 'int';
  }

  string() {
    const begin = this.at;
    this.#passString();
    return JSON.parse(this.bytes.utf8Slice(begin, this.at));
  }

  int() {
    const begin = this.at;
    this.at = this.#endOfScalar();
    return integer(this.bytes.latin1Slice(begin, this.at));
  }

  /** Visit the members of the object here: `visit(key)` takes or skips the value that follows. */
  members(visit) {
    this.#items(CLOSE_OBJECT, () => {
      const key = this.string();
      this.#skipBlanks();
      this.at++;
      this.#skipBlanks();
      visit(key);
    });
  }

  /** Visit the elements of the list here. */
  elements(visit) {
    this.#items(CLOSE_LIST, visit);
  }

  /** Pass one value of any type. */
  skip() {
    let open = 0;
    do {
      const byte = this.#skipBlanks();
      if (byte === QUOTE) this.#passString();
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) open++, this.at++;
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) open--, this.at++;
      else if (byte === COMMA || byte === COLON) this.at++;
      else this.at = this.#endOfScalar();
    } while (open > 0);
  }

  #items(close, visit) {
    this.at++;
    if (this.#skipBlanks() === close) return void this.at++;
    for (;;) {
      this.#skipBlanks();
      visit();
      this.#skipBlanks();
      if (this.bytes[this.at++] === close) return;
    }
  }

  #skipBlanks() {
    while (isBlank(this.bytes[this.at])) this.at++;
    return this.bytes[this.at];
  }

  #passString() {
    for (this.at++; this.bytes[this.at] !== QUOTE; this.at++) {
      if (this.bytes[this.at] === BACKSLASH) this.at++;
    }
    this.at++;
  }

  #endOfScalar() {
    let end = this.at;
    for (let byte = this.bytes[end]; end < this.bytes.length; byte = this.bytes[++end]) {
      if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || isBlank(byte)) break;
    }
    return end;
  }
}
