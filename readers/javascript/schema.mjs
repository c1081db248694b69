// The schema of the metadata: read as it stands, then held against what the format allows (R045).

import { isUtf8 } from 'node:buffer';
import { demand, refuse } from './breach.mjs';

const V5 = 4;
const UTC = Buffer.from('UTC');
const MOST_TABLES = 1_000_000; // in one buffer, as the standard verifier of FlatBuffers has it
const LONGEST_NAME = 255;
const LITTLE_ENDIAN = 0;

const INT = 2;
const FLOATING_POINT = 3;
const BOOL = 6;
const DATE = 8;
const TIMESTAMP = 10;
const DURATION = 18;
const BINARY_VIEW = 23;
const UTF8_VIEW = 24;
const UNITS = [null, 'ms', 'us', 'ns']; // seconds are not allowed

export function checkVersion(version, what) {
  demand(version === V5, 'R045', `${what} is of MetadataVersion ${version}, expected V5`);
}

/** A table Schema as it stands, checked for nothing but that it lies in its buffer (R042). */
export function readSchema(table) {
  const columns = [];
  for (const field of table.tables(1)) {
    if (columns.push(readField(field)) > MOST_TABLES) refuse('R042', 'the schema has too many tables');
  }
  return { endianness: table.i16(0, 0), columns, custom: table.countOf(2) };
}

function readField(field) {
  const typeTable = field.table(3);
  return {
    name: field.vector(0, 1)?.bytes ?? null,
    nullable: field.u8(1, 0) !== 0,
    type: typeTable && readType(field.u8(2, 0), typeTable),
    // Neither dictionary nor children nor metadata of its own.
    plain: !field.has(4) && field.countOf(5) === 0 && field.countOf(6) === 0,
  };
}

/** The name, width and layout of a column type, or null for one that is not allowed. */
function readType(number, table) {
  switch (number) {
    case INT: {
      const bits = table.i32(0, 0);
      const signed = table.u8(1, 0) !== 0;
      return [8, 16, 32, 64].includes(bits) ? fixed(`${signed ? '' : 'u'}int${bits}`, bits / 8) : null;
    }
    case FLOATING_POINT: {
      const precision = table.i16(0, 0);
      return precision === 1 ? fixed('float32', 4) : precision === 2 ? fixed('float64', 8) : null;
    }
    case BOOL:
      return { name: 'bool', layout: 'bits', width: 0 };
    case DATE:
      return table.i16(0, 1) === 0 ? fixed('date', 4) : null;
    case TIMESTAMP: {
      const unit = UNITS[table.i16(0, 0)];
      const zone = table.vector(1, 1);
      if (!unit || (zone && !zone.bytes.equals(UTC))) return null;
      return fixed(zone ? `timestamp[${unit}, UTC]` : `timestamp[${unit}]`, 8);
    }
    case DURATION: {
      const unit = UNITS[table.i16(0, 1)];
      return unit ? fixed(`duration[${unit}]`, 8) : null;
    }
    case BINARY_VIEW:
      return { name: 'binary', layout: 'views', width: 16 };
    case UTF8_VIEW:
      return { name: 'string', layout: 'views', width: 16 };
    default:
      return null;
  }
}

function fixed(name, width) {
  return { name, layout: 'numbers', width };
}

/** Hold a schema against the format: the columns {name, type} that it allows, else R045. */
export function checkSchema({ endianness, columns, custom }, fieldNames, what) {
  const bad = (problem) => refuse('R045', `${what}: ${problem}`);
  if (endianness !== LITTLE_ENDIAN) bad('it is not little-endian');
  if (custom !== 0) bad('it has metadata of its own');
  if (columns.length === 0) bad('it has no column');
  const seen = new Set(fieldNames);
  return columns.map((column, number) => {
    const name = legalName(column.name);
    if (name === null || seen.has(name)) bad(`column ${number} has no legal name of its own`);
    seen.add(name);
    if (!column.nullable) bad(`column ${number} is not nullable`);
    if (!column.type) bad(`column ${number} has a type that is not allowed`);
    if (!column.plain) bad(`column ${number} has a dictionary, children or metadata of its own`);
    return { name, type: column.type };
  });
}

function legalName(bytes) {
  if (!bytes || bytes.length < 1 || bytes.length > LONGEST_NAME || !isUtf8(bytes)) return null;
  const name = bytes.utf8Slice();
  return /^_|\0|^(cache_id|sample_id)$/.test(name) ? null : name;
}

/** The schema of the first message has the same columns as the footer's, else R045. */
export function checkSameColumns(first, footer) {
  const same = first.length === footer.length && first.every((column, i) =>
    column.name === footer[i].name && column.type.name === footer[i].type.name);
  demand(same, 'R045', 'the schemas of the first message and of the footer differ');
}
