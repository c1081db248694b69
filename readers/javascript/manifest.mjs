// manifest.json: its proof (R002, R003), its JSON (R004), its version (R005), and exactly the keys and types
// that a manifest has (R006). What the values must be is in values.mjs.

import { Blake3 } from './blake3.mjs';
import { cut, demand, refuse } from './breach.mjs';
import { Cursor } from './cursor.mjs';
import { checkObject } from './json.mjs';
import { checkValues } from './values.mjs';

export const LARGEST_MANIFEST = 64 * 2 ** 20;
const PROVEN_FROM = 77;

/** The manifest in these bytes, proven and checked: {name, samples, shards, fields, metadata, digest}. */
export function readManifest(bytes) {
  const start = bytes.latin1Slice(0, Math.min(PROVEN_FROM, bytes.length));
  const match = /^\{"digest":"([0-9a-f]{64})",$/.exec(start);
  demand(match, 'R002', 'manifest.json does not begin with its digest');
  const digest = new Blake3().update(bytes.subarray(0, 1)).update(bytes.subarray(PROVEN_FROM)).hex();
  demand(digest === match[1], 'R003', `manifest.json says its digest is ${match[1]}, it is ${digest}`);

  const members = checkObject(bytes);
  checkVersion(bytes, members);
  const manifest = readObject(new Cursor(bytes, 0), 'the manifest', OUTER);
  checkValues(manifest);
  return manifest;
}

function checkVersion(bytes, members) {
  const at = members.get('format');
  demand(at !== undefined, 'R005', 'the manifest has no key format: it is of another version');
  const cursor = new Cursor(bytes, at);
  const type = cursor.type();
  const version = type === 'int' ? cursor.int() : null;
  demand(version === 1, 'R005', `the manifest is of format ${version ?? type}, this reader reads format 1`);
}

// A type is a function (cursor, what) that takes the value at the cursor, or refuses it by R006.

function expect(cursor, what, ...types) {
  const type = cursor.type();
  demand(types.includes(type), 'R006', `${what} is ${type}, expected ${types.join(' or ')}`);
  return type;
}

function int(cursor, what) {
  expect(cursor, what, 'int');
  return cursor.int();
}

function string(cursor, what) {
  expect(cursor, what, 'string');
  return cursor.string();
}

function hex(cursor, what) {
  const text = string(cursor, what);
  demand(/^[0-9a-f]{64}$/.test(text), 'R006', `${what} is ${cut(text)}, expected 64 digits 0-9a-f`);
  return text;
}

function free(cursor, what) {
  expect(cursor, what, 'object');
  cursor.skip();
  return null;
}

function orNull(type) {
  return (cursor, what) => {
    if (cursor.type() !== 'null') return type(cursor, what);
    cursor.skip();
    return null;
  };
}

function listOf(type) {
  return (cursor, what) => {
    expect(cursor, what, 'list');
    const list = [];
    cursor.elements(() => list.push(type(cursor, `${what}[${list.length}]`)));
    return list;
  };
}

/** An object with these keys. Each is there unless it is `optional`; then it becomes undefined. */
function readObject(cursor, what, types, optional = []) {
  expect(cursor, what, 'object');
  const object = {};
  cursor.members((key) => {
    demand(Object.hasOwn(types, key), 'R006', `${what} has an unknown key ${cut(key)}`);
    object[key] = types[key](cursor, `${what}.${key}`);
  });
  for (const key of Object.keys(types)) {
    demand(key in object || optional.includes(key), 'R006', `${what} has no ${key}`);
  }
  return object;
}

const FILE = { bytes: int, body_blake3: hex, index_blake3: hex };
const FIELD = {
  name: string,
  kind: string,
  dtype: string,
  codec: string,
  files: listOf((cursor, what) => readObject(cursor, what, FILE, ['index_blake3'])),
  shape: listOf(int),
  ndim: int,
  dictionary: (cursor, what) => readObject(cursor, what, { bytes: int, body_blake3: hex }),
  delta: int,
};
const METADATA = { bytes: int, chunks: listOf(hex) };
const OUTER = {
  digest: string,
  name: string,
  format: int,
  samples: int,
  shards: listOf(int),
  fields: listOf(readField),
  metadata: orNull((cursor, what) => readObject(cursor, what, METADATA)),
  fingerprint: orNull(string),
  attributes: free,
};

/**
 * A field. Which keys it has depends on kind and codec. Where these are unknown, some are neither asked for
 * nor refused: the breach to report is then the unknown kind or codec (R014, R015), not a key.
 */
function readField(cursor, what) {
  const field = readObject(cursor, what, FIELD, ['shape', 'ndim', 'dictionary', 'delta']);
  const kindKnown = ['dense', 'ragged', 'bytes', 'text'].includes(field.kind);
  const codecKnown = ['raw', 'zstd', 'zstd-dict'].includes(field.codec);
  const only = (key, wanted, owner = field) => {
    const has = owner[key] !== undefined;
    if (has !== wanted) refuse('R006', `${what} ${has ? 'must not have' : 'has no'} ${key}`);
  };
  if (kindKnown) {
    only('shape', field.kind === 'dense');
    only('ndim', field.kind === 'ragged');
  }
  if (codecKnown) only('dictionary', field.codec === 'zstd-dict');
  if (kindKnown && codecKnown) {
    const indexed = !(field.kind === 'dense' && field.codec === 'raw');
    for (const file of field.files) only('index_blake3', indexed, file);
  }
  return field;
}
