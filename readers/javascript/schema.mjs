// The schema of the metadata: what of it lies inside its buffer (R042), and what the format allows (R045).

import { isUtf8 } from 'node:buffer';
import { demand, refuse } from './breach.mjs';

const V5 = 4;
const UTC = Buffer.from('UTC');
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
const STORED = new Set([INT, FLOATING_POINT, BOOL, DATE, TIMESTAMP, DURATION, BINARY_VIEW, UTF8_VIEW]);
const UNITS = [null, 'ms', 'us', 'ns']; // seconds are not allowed

export function checkVersion(version, what) {
  demand(version === V5, 'R045', `${what} is of MetadataVersion ${version}, expected V5`);
}

/** The columns {name, type} of a table Schema, each field judged when its turn comes (R042, R045). */
export function readSchema(table, fieldNames, what) {
  const bad = (problem) => refuse('R045', `${what}: ${problem}`);
  if (table.i16(0, 0) !== LITTLE_ENDIAN) bad('it is not little-endian');
  const seen = new Set(fieldNames);
  const columns = [];
  for (const field of table.tables(1)) {
    const number = columns.length;
    const name = legalName(field.text(0));
    if (name === null || seen.has(name)) bad(`column ${number} has no legal name of its own`);
    seen.add(name);
    if (field.u8(1, 0) === 0) bad(`column ${number} is not nullable`);
    const type = readType(field);
    if (!type) bad(`column ${number} has a type that is not allowed`);
    if (field.has(4)) bad(`column ${number} has a dictionary`);
    if (field.countOf(5) > 0) bad(`column ${number} has children`);
    if (field.countOf(6) > 0) bad(`column ${number} has metadata of its own`);
    columns.push({ name, type });
  }
  if (columns.length === 0) bad('it has no column');
  if (table.countOf(2) > 0) bad('it has metadata of its own');
  table.structs(3, 8); // features: any
  return columns;
}

/** The name, width and layout of a column's type, or null for one that is not allowed. */
function readType(field) {
  const number = field.u8(2, 0);
  if (!STORED.has(number)) return null;
  const table = field.table(3);
  if (table === null) return null;
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
      const zone = table.text(1);
      if (!unit || (zone && !zone.equals(UTC))) return null;
      return fixed(zone ? `timestamp[${unit}, UTC]` : `timestamp[${unit}]`, 8);
    }
    case DURATION: {
      const unit = UNITS[table.i16(0, 1)];
      return unit ? fixed(`duration[${unit}]`, 8) : null;
    }
    case BINARY_VIEW:
      return { name: 'binary', layout: 'views', width: 16 };
    default:
      return { name: 'string', layout: 'views', width: 16 };
  }
}

function fixed(name, width) {
  return { name, layout: 'numbers', width };
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
