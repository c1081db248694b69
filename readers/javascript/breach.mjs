// The one error of this reader: a rule of the format that a file breaks. Every other error (memory, the
// operating system) passes through as it is and is never called a breach.

/** A breach of a rule: `rule` is its id, and the message says the place as far as it is known. */
export class Breach extends Error {
  constructor(rule, message) {
    super(message);
    this.name = 'Breach';
    this.rule = rule;
  }
}

/** Refuse by a rule. */
export function refuse(rule, message) {
  throw new Breach(rule, message);
}

/** Refuse by a rule unless what it asks for holds. */
export function demand(holds, rule, message) {
  if (!holds) refuse(rule, message);
}

/** Text from an untrusted file, short enough for a message: names can be megabytes. */
export function cut(text) {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
