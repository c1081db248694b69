//! Text to values: one pass over the bytes, recursion bounded by the depth the format allows.

use super::memory::{Step, Stop, copy, one_more};
use super::{MAX_DEPTH, Object, Value};
use crate::error::{Error, Kind, Result};
use crate::format::names::short;

pub(super) fn parse(text: &[u8]) -> Result<Value> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => return Err(breach(error.valid_up_to(), "not well-formed UTF-8").error()),
    };
    let mut parser = Parser { text, at: 0, decoded: String::new() };
    parser.space();
    let value = parser.value(0).map_err(Stop::error)?;
    parser.space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.breach("something follows the value").error()),
    }
}

fn breach(at: usize, what: &str) -> Stop {
    let message = format!("manifest.json is not the strict JSON of the format: {what} at byte {at}");
    Stop::Breach(Error::rule(Kind::Format, 4, message))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// The string that is read, if it has escapes.
    decoded: String,
}

impl Parser<'_> {
    fn breach(&self, what: &str) -> Stop {
        breach(self.at, what)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Step<()> {
        if self.take(byte) { Ok(()) } else { Err(self.breach(&format!("no {:?}", char::from(byte)))) }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A value inside `depth` arrays and objects.
    fn value(&mut self, depth: u32) -> Step<Value> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => Ok(Value::Str(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.breach("no value")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Step<Value> {
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            return Err(self.breach("no value"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn open(&mut self, depth: u32, bracket: u8) -> Step<()> {
        if depth > MAX_DEPTH {
            return Err(self.breach("more than 64 levels"));
        }
        self.expect(bracket)?;
        self.space();
        Ok(())
    }

    fn array(&mut self, depth: u32) -> Step<Value> {
        self.open(depth, b'[')?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            one_more(&mut items)?;
            items.push(self.value(depth)?);
            self.space();
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.expect(b',')?;
            self.space();
        }
    }

    fn object(&mut self, depth: u32) -> Step<Value> {
        let start = self.at;
        self.open(depth, b'{')?;
        let mut entries = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(Object::default()));
        }
        loop {
            one_more(&mut entries)?;
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            entries.push((key, self.value(depth)?));
            self.space();
            if self.take(b'}') {
                let second = |key: Box<str>| breach(start, &format!("a second key {:?} in the object", short(&key)));
                return Object::sorted(entries).map(Value::Object).map_err(second);
            }
            self.expect(b',')?;
            self.space();
        }
    }

    fn string(&mut self) -> Step<Box<str>> {
        self.expect(b'"')?;
        let text = self.text;
        let mut start = self.at;
        self.decoded.clear();
        loop {
            while self.peek().is_some_and(|c| c != b'"' && c != b'\\' && c >= 0x20) {
                self.at += 1;
            }
            // Both ends lie at ASCII bytes or the ends of the text, so this never splits a character.
            let plain = text.get(start..self.at).unwrap_or_default();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    if self.decoded.is_empty() {
                        return copy(plain);
                    }
                    self.decode(plain)?;
                    return copy(&self.decoded);
                }
                Some(b'\\') => {
                    self.decode(plain)?;
                    self.at += 1;
                    let letter = self.escape()?;
                    self.decode(letter.encode_utf8(&mut [0; 4]))?;
                    start = self.at;
                }
                Some(_) => return Err(self.breach("a control character in a string")),
                None => return Err(self.breach("a string without end")),
            }
        }
    }

    fn decode(&mut self, part: &str) -> Step<()> {
        self.decoded.try_reserve(part.len()).map_err(|_| Stop::Memory)?;
        self.decoded.push_str(part);
        Ok(())
    }

    fn escape(&mut self) -> Step<char> {
        let plain = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.breach("an unknown escape")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `uXXXX` or a whole surrogate pair `uXXXX\uXXXX`.
    fn unicode(&mut self) -> Step<char> {
        let start = self.at;
        let high = self.unit()?;
        let code = match high {
            0xD800..0xDC00 => {
                let low = if self.take(b'\\') { self.unit()? } else { 0 };
                if !(0xDC00..0xE000).contains(&low) {
                    return Err(breach(start, "half a surrogate pair"));
                }
                0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
            }
            _ => high,
        };
        char::from_u32(code).ok_or_else(|| breach(start, "half a surrogate pair"))
    }

    fn unit(&mut self) -> Step<u32> {
        self.expect(b'u')?;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|c| char::from(c).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.breach("no hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn digits(&mut self) -> Step<()> {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.breach("no digit")) }
    }

    fn number(&mut self) -> Step<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let mut float = false;
        if self.take(b'.') {
            float = true;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            float = true;
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let token = self.text.get(start..self.at).unwrap_or_default();
        if float {
            return match token.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Value::Float(copy(token)?)),
                _ => Err(breach(start, "a number beyond the range of doubles")),
            };
        }
        match token.parse::<i64>() {
            Ok(0) if token != "0" => Err(breach(start, "the number -0")),
            Ok(number) if number > i64::MIN => Ok(Value::Int(number)),
            _ => Err(breach(start, "an integer beyond ±(2^63-1)")),
        }
    }
}
