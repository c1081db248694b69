//! Values to text, in the one spelling that writers of the format use.

use super::Value;

pub(super) fn value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend(b"null"),
        Value::Bool(true) => out.extend(b"true"),
        Value::Bool(false) => out.extend(b"false"),
        Value::Int(number) => out.extend(number.to_string().as_bytes()),
        Value::Float(token) => out.extend(token.as_bytes()),
        Value::Str(text) => string(text, out),
        Value::Array(items) => {
            list(b'[', b']', items, out, self::value);
        }
        Value::Object(entries) => list(b'{', b'}', entries.iter(), out, |(key, item), out| {
            string(key, out);
            out.push(b':');
            self::value(item, out);
        }),
    }
}

/// The items between brackets, with commas.
fn list<T>(open: u8, close: u8, items: impl IntoIterator<Item = T>, out: &mut Vec<u8>, each: impl Fn(T, &mut Vec<u8>)) {
    out.push(open);
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        each(item, out);
    }
    out.push(close);
}

/// Only what must be escaped is: `"`, `\` and the control characters, these with the short form where there is one.
fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend(br#"\""#),
            b'\\' => out.extend(br"\\"),
            b'\n' => out.extend(br"\n"),
            b'\r' => out.extend(br"\r"),
            b'\t' => out.extend(br"\t"),
            0x08 => out.extend(br"\b"),
            0x0C => out.extend(br"\f"),
            0..0x20 => out.extend(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
