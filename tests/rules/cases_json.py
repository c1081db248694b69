"""R000 to R005: that there is a manifest, that it is whole, and that its JSON is strict."""

from __future__ import annotations

import os
from pathlib import Path

from .case import Table, attribute, disk, final, swap, text
from .forge import Cache

TABLE = Table("open")
LIMIT = 64 << 20


def instead_of_manifest(path: Path) -> Path:
    manifest = path / "manifest.json"
    manifest.unlink()
    return manifest


def a_file(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.write_bytes(b"not a directory")


for name, edit in {
    "manifest missing": instead_of_manifest,
    "manifest a directory": lambda path: instead_of_manifest(path).mkdir(),
    "manifest a FIFO": lambda path: os.mkfifo(instead_of_manifest(path)),
    "manifest a dangling link": lambda path: instead_of_manifest(path).symlink_to("nowhere"),
    "no such path": lambda path: path.rename(path.with_name("moved")),
    "path a file": a_file,
}.items():
    TABLE.add("R000", name, disk(edit))


@TABLE.case("R001", "one byte over 64 MiB")
def _(cache: Cache) -> None:
    # The text that is digested lacks the 76 bytes of the digest.
    cache.edit_text = lambda content: content + b" " * (LIMIT + 1 - 76 - len(content))


for name, bytes_of in {
    "empty": lambda content: b"",
    "cut inside the prefix": lambda content: content[:60],
    "cut after the digest": lambda content: content[:76],
    "byte order mark": lambda content: b"\xef\xbb\xbf" + content,
    "white space before": lambda content: b" " + content,
    "white space after the brace": lambda content: b"{ " + content[1:],
    "white space before the digest": lambda content: content.replace(b'"digest":"', b'"digest": "', 1),
    "digest in upper case": lambda content: content[:11] + content[11:75].upper() + content[75:],
    "digest not hex": lambda content: content[:11] + b"g" + content[12:],
    "digest a digit short": lambda content: content[:11] + content[12:],
    "digest not first": lambda content: b'{"a":1,' + content[1:],
    "digest alone": lambda content: content[:76] + b"}",
    "an array": lambda content: b"[" + content + b"]",
}.items():
    TABLE.add("R002", name, final(bytes_of))

for name, bytes_of in {
    "digest of another text": lambda content: content[:11] + b"0" * 64 + content[75:],
    "one bit of the text": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "one blank more": lambda content: content + b" ",
    "cut at the end": lambda content: content[:-1],
}.items():
    TABLE.add("R003", name, final(bytes_of))

for name, token in {
    "minus zero": "-0",
    "minus zero, nested": '[{"x":[-0]}]',
    "int 2^63": str(2**63),
    "int -2^63": str(-(2**63)),
    "int of 400 digits": "1" * 400,
    "float over the largest": "1e309",
    "float over the largest, negative": "-1.8e308",
    "leading zero": "01",
    "leading zero, negative": "-01",
    "plus sign": "+1",
    "no digit before the point": ".5",
    "no digit after the point": "1.",
    "no digit in the exponent": "1e",
    "hexadecimal": "0x10",
    "minus alone": "-",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "minus Infinity": "-Infinity",
    "word True": "True",
    "word nul": "nul",
    "single quotes": "'x'",
    "unquoted key": "{x:1}",
    "key an int": "{1:1}",
    "no value": '{"x":}',
    "no colon": '{"x" 1}',
    "trailing comma in an array": "[1,]",
    "trailing comma in an object": '{"x":1,}',
    "comma missing": "[1 2]",
    "mismatched bracket": "[1}",
    "comment": "/* */ 1",
    "string not ended by a newline": '"a\nb"',
    "control character": '"\x01"',
    "escape unknown": '"\\x41"',
    "escape of three digits": '"\\u041"',
    "escape with an underscore": '"\\u0_41"',
    "high surrogate alone": '"\\ud800"',
    "low surrogate alone": '"\\udc00"',
    "high surrogate twice": '"\\ud800\\ud800"',
    "surrogates in the wrong order": '"\\udc00\\ud800"',
    "high surrogate, then a letter": '"\\ud800x"',
    "surrogate in a key": '{"\\ud800":1}',
    "no-break space": "\u00a0 1",
    "form feed": "\f1",
    "duplicate key in an attribute": '{"x":1,"x":1}',
    "duplicate key, one escaped": '{"x":1,"\\u0078":1}',
    "duplicate empty key": '{"":1,"":2}',
    "nesting 65": "[" * 63 + "]" * 63,
    "nesting 65 of objects": '{"x":' * 62 + "{}" + "}" * 62,
    "nesting 65, mixed": '[{"x":' * 31 + "[0]" + "}]" * 31,
    "nesting 100,000": "[" * 100_000 + "]" * 100_000,
    "nesting never closed": "[" * 1000,
}.items():
    TABLE.add("R004", name, attribute(token))

for name, raw in {
    "bytes not UTF-8": b'"\xff"',
    "UTF-8 cut short": b'"\xe2\x82"',
    "UTF-8 of a surrogate": b'"\xed\xa0\x80"',
    "UTF-8 overlong": b'"\xc0\xaf"',
    "UTF-8 over 10FFFF": b'"\xf4\x90\x80\x80"',
    "UTF-8 wrong outside a string": b"\x80",
    "NUL outside a string": b"1\0",
}.items():
    TABLE.add("R004", name, attribute(raw))

for name, edit_text in {
    "trailing comma at the top": lambda content: content[:-1] + b",}",
    "not closed": lambda content: content[:-1],
    "text after the object": lambda content: content + b"x",
    "second object": lambda content: content + b"{}",
    "NUL after the object": lambda content: content + b"\0",
    "nothing after the digest": lambda content: content[:1],
    "second digest": lambda content: content[:-1] + b',"digest":"' + b"0" * 64 + b'"}',
    "duplicate key at the top": lambda content: content[:-1] + b',"samples":5}',
    "duplicate key in a field": lambda content: content.replace(
        b'"kind":"text"', b'"kind":"text","kind":"text"', 1
    ),
    "duplicate format, one escaped": lambda content: content[:-1] + b',"f\\u006frmat":1}',
}.items():
    TABLE.add("R004", name, text(edit_text))

TABLE.add("R004", "minus zero as a count", swap('"samples":5', '"samples":-0'))
TABLE.add("R004", "int out of range as a count", swap('"samples":5', '"samples":9223372036854775808'))
TABLE.add("R004", "infinite float as a count", swap('"samples":5', '"samples":5e400'))
TABLE.add("R004", "minus zero as the format", swap('"format":1', '"format":-0'))

for name, new in {
    "missing": "",
    "2": '"format":2,',
    "0": '"format":0,',
    "negative": '"format":-1,',
    "the largest int": '"format":9223372036854775807,',
    "float 1.0": '"format":1.0,',
    "float 1e0": '"format":1e0,',
    "str": '"format":"1",',
    "true": '"format":true,',
    "null": '"format":null,',
    "list": '"format":[1],',
    "2 and unknown keys": '"format":2,"future":{"x":0.5},',
    "escaped key, 2": '"f\\u006frmat":2,',
}.items():
    TABLE.add("R005", name, swap('"format":1,', new))


@TABLE.case("R005", "nothing but a newer format")
def _(cache: Cache) -> None:
    cache.edit_text = lambda content: b'{"format":3}'
