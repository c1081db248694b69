//! JSON as manifests use it: RFC 8259, strict, with the rules of the format for numbers and keys.
//!
//! A parser of our own because every leniency of a common one is a way for two readers to disagree: duplicate
//! keys, numbers out of range, lone surrogates, deep nesting.

mod memory;
mod object;
mod parse;
mod write;

use crate::error::Result;

pub use object::Object;

/// The most levels of arrays and objects; the outermost is level 1.
pub const MAX_DEPTH: u32 = 64;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction or exponent; its magnitude is less than 2^63.
    Int(i64),
    /// A number with fraction or exponent, as it was spelt; it rounds to a finite double.
    Float(Box<str>),
    /// A string.
    Str(Box<str>),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// The one value that `text` spells. A breach is of rule R004 and names the byte. Text can ask for
    /// about 20 times its own bytes; where the memory refuses them, that is an error of [`Kind::Memory`](crate::Kind).
    pub fn parse(text: &[u8]) -> Result<Self> {
        parse::parse(text)
    }

    /// Appends the text of this value as writers of the format spell it: keys by code point, no white space, raw
    /// UTF-8, as few escapes as possible.
    pub fn write(&self, out: &mut Vec<u8>) {
        write::value(self, out);
    }
}

#[cfg(test)]
mod tests;
