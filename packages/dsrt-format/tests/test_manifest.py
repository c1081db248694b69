import json
import tracemalloc

import pytest

from dsrt_format import FormatError, Manifest, NotPublishedError, UnknownVersionError, validate
from dsrt_format.checksum import blake3_digest

HEX = "0" * 64


def document(**changes):
    """A legal manifest of one dense field and one shard, without its digest."""
    value = {
        "attributes": {},
        "fields": [
            {
                "name": "x",
                "kind": "dense",
                "dtype": "uint8",
                "codec": "raw",
                "shape": [3],
                "files": [{"bytes": 64 + 8 + 8, "body_blake3": HEX}],
            }
        ],
        "fingerprint": None,
        "format": 1,
        "metadata": None,
        "name": "n",
        "samples": 2,
        "shards": [2],
    }
    return {**value, **changes}


def field(**changes):
    value = {**document()["fields"][0], **changes}
    return {key: item for key, item in value.items() if item is not ...}


def indexed(**changes):
    """A legal ragged field with one file of two records."""
    file = {"bytes": 64 + 16 + 2 * 20, "body_blake3": HEX, "index_blake3": HEX}
    return field(**{"kind": "ragged", "shape": ..., "ndim": 1, "files": [file], **changes})


def with_digest(text):
    """Put the digest before the text of an object, as the format wants it."""
    content = text.encode() if isinstance(text, str) else text
    return b'{"digest":"' + blake3_digest(content).hex().encode() + b'",' + content[1:]


@pytest.fixture
def rule_of(tmp_path):
    def load(content):
        if isinstance(content, dict):
            content = json.dumps(content)
        (tmp_path / "manifest.json").write_bytes(with_digest(content))
        try:
            Manifest.load(tmp_path)
        except FormatError as error:
            return error.rule
        return None

    return load


def test_the_examples_of_the_specification_load_and_serialise_to_the_same_bytes(vectors):
    for name, cache_id in ("empty", 5800493788793326625), ("demo", 1779736405239361470):
        path = vectors / "example" / name
        manifest = Manifest.load(path)
        assert manifest.name == name
        assert manifest.cache_id == cache_id
        assert manifest.to_bytes() == (path / "manifest.json").read_bytes()
        assert manifest.sealed() == manifest
    assert manifest.num_samples == 5
    assert manifest.shards == (3, 2)
    assert manifest.attributes == {"mean": [0.485, 0.456], "note": "größe"}
    assert manifest.fingerprint == "git:1a2b3c"
    assert [f.name for f in manifest.fields] == ["image", "feat", "tokens", "jpeg", "caption"]
    assert [f.kind for f in manifest.fields] == ["dense", "dense", "ragged", "bytes", "text"]
    assert manifest.fields[0].shape == (2, 2, 3)
    assert manifest.fields[2].dictionary.bytes == 128
    assert manifest.metadata.bytes == 778


def test_what_the_tests_call_legal_is_legal(rule_of):
    assert rule_of(document()) is None
    assert rule_of(document(fields=[indexed()])) is None


def test_white_space_is_allowed_after_the_digest(rule_of):
    assert rule_of(json.dumps(document(), indent=2) + "\r\n\t ") is None


def test_r000_there_is_no_regular_file(tmp_path):
    for path in tmp_path, tmp_path / "none", tmp_path / "file" / "below":
        (tmp_path / "file").touch()
        with pytest.raises(NotPublishedError) as caught:
            Manifest.load(path)
        assert (caught.value.rule, caught.value.cache) == ("R000", str(path))
    with pytest.raises(NotPublishedError):
        Manifest.load(str(tmp_path / "file"))
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(NotPublishedError, match="not a regular file"):
        Manifest.load(tmp_path)


def test_r001_too_long(tmp_path):
    with open(tmp_path / "manifest.json", "wb") as file:
        file.truncate(2**26 + 1)
    with pytest.raises(FormatError, match="R001"):
        Manifest.load(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"{}",
        b'{"digest":"',
        b'{ "digest":"' + b"0" * 64 + b'",',
        b'{"digest":"' + b"A" * 64 + b'",}',
    ],
)
def test_r002_no_digest_at_the_beginning(tmp_path, data):
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(FormatError, match="R002"):
        Manifest.load(tmp_path)


def test_r003_any_flipped_bit(tmp_path, vectors):
    data = (vectors / "example" / "demo" / "manifest.json").read_bytes()
    # The prefix has rules of its own; what follows is hashed as one.
    for at in (*range(80), *range(80, len(data), 13)):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        (tmp_path / "manifest.json").write_bytes(flipped)
        with pytest.raises(FormatError) as caught:
            Manifest.load(tmp_path)
        assert caught.value.rule == ("R002" if at < 11 or 75 <= at < 77 else caught.value.rule)
        assert caught.value.rule in ("R002", "R003")


def attributes(text):
    return json.dumps(document()).replace('"attributes": {}', f'"attributes": {{"a": {text}}}')


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775807",
        "1.0",
        "1e3",
        "-0.0",
        "-0e0",
        "1E-400",
        "null",
        '"\\ud83d\\ude00"',
        '"\\u0000"',
        '"\x7f"',
        '"😀"',
        "[" * 62 + "]" * 62,
        '{"a":{"a":1},"b":{"a":1}}',
        "{}",
    ],
)
def test_r004_accepts_what_rfc_8259_and_the_format_allow(rule_of, text):
    assert rule_of(attributes(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "-0",
        "9223372036854775808",
        "-9223372036854775808",
        "1" * 5000,
        "1e400",
        "-1e400",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
        "0x1",
        "NaN",
        "Infinity",
        "-Infinity",
        "tru",
        "True",
        "'a'",
        "",
        "[1,]",
        '{"a":1,}',
        "{a:1}",
        "/**/1",
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\ud800\\u0041"',
        '{"\\ud800":1}',
        '"\\x41"',
        '"\n"',
        '"\x00"',
        '"\\u12"',
        '{"a":1,"a":1}',
        '{"a":1,"\\u0061":2}',
        '[{"a":{"b":1,"b":1}}]',
        "[" * 63 + "]" * 63,
        "[" * 100000,
        "1 2",
    ],
)
def test_r004_refuses_what_parsers_disagree_about(rule_of, text):
    assert rule_of(attributes(text)) == "R004"


def test_r004_levels_of_nesting_count_arrays_and_objects(rule_of):
    # The outer object is level 1, attributes level 2.
    assert rule_of(attributes('{"a":' * 61 + "[]" + "}" * 61)) is None
    assert rule_of(attributes('{"a":' * 61 + "[[]]" + "}" * 61)) == "R004"


@pytest.mark.parametrize("tail", ["x", "{}", "\ufeff", "\x0b", "\xa0", ","])
def test_r004_nothing_but_white_space_follows(rule_of, tail):
    assert rule_of(json.dumps(document()) + tail) == "R004"


@pytest.mark.parametrize("data", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"])
def test_r004_bytes_that_are_not_utf8(rule_of, data):
    assert rule_of(json.dumps(document()).encode().replace(b'"n"', b'"' + data + b'"')) == "R004"


def test_r004_comes_before_r005_and_r006(rule_of):
    text = json.dumps(document(format=2, extra=1))
    assert rule_of(text[:-1] + ', "a": -0}') == "R004"
    assert rule_of(text[:-1] + ', "digest": "0"}') == "R004"


@pytest.mark.parametrize("version", [0, 2, -1, "1", 1.0, True, None, [1]])
def test_r005_another_version(rule_of, tmp_path, version):
    assert rule_of(document(format=version, extra=1)) == "R005"
    with pytest.raises(UnknownVersionError):
        Manifest.load(tmp_path)


def test_r005_no_version(rule_of):
    value = document(extra=1)
    del value["format"]
    assert rule_of(value) == "R005"


@pytest.mark.parametrize("key", sorted(set(document()) - {"format"}))
def test_r006_a_missing_key(rule_of, key):
    value = document()
    del value[key]
    assert rule_of(value) == "R006"


FILE = document()["fields"][0]["files"][0]
WRONG_TYPES = [
    document(extra=1),
    document(name=1),
    document(name=None),
    document(fingerprint=1),
    document(samples=2.0),
    document(samples=True),
    document(samples="2"),
    document(shards=None),
    document(shards={}),
    document(shards=[2.0]),
    document(shards=[True]),
    document(attributes=None),
    document(attributes=[]),
    document(metadata={}),
    document(metadata=[]),
    document(metadata={"bytes": 1, "chunks": [HEX], "x": 1}),
    document(metadata={"bytes": 1.0, "chunks": [HEX]}),
    document(metadata={"bytes": 1, "chunks": [HEX[1:]]}),
    document(metadata={"bytes": 1, "chunks": [HEX.replace("0", "A")]}),
    document(metadata={"bytes": 1, "chunks": [HEX + "\n"]}),
    document(fields={}),
    document(fields=[1]),
    *(
        document(fields=[changed])
        for changed in [
            field(extra=1),
            field(name=1),
            field(name=...),
            field(kind=1),
            field(kind=[]),
            field(kind=...),
            field(codec=...),
            field(codec={}),
            field(dtype=...),
            field(dtype=1),
            field(files=...),
            field(files=None),
            field(shape=...),
            field(shape=3),
            field(shape=[3.0]),
            field(shape=[True]),
            field(ndim=1),
            field(delta=None),
            field(delta=1.0),
            field(dictionary={"bytes": 100, "body_blake3": HEX}),
            field(codec="zstd-dict", files=[{**FILE, "index_blake3": HEX}]),
            field(codec="zstd"),
            field(files=[{**FILE, "index_blake3": HEX}]),
            field(files=[{**FILE, "x": 1}]),
            field(files=[{"bytes": 80}]),
            field(files=[{**FILE, "bytes": 80.0}]),
            field(files=[{**FILE, "body_blake3": None}]),
            field(files=[{**FILE, "body_blake3": "0" * 63 + "g"}]),
            indexed(ndim=...),
            indexed(ndim="1"),
            indexed(shape=[1]),
            indexed(files=[FILE]),
            indexed(kind="text", dtype="uint8"),
            indexed(codec="zstd-dict", dictionary=None),
            indexed(codec="zstd-dict", dictionary={"bytes": 100}),
            indexed(codec="zstd-dict", dictionary={"bytes": "100", "body_blake3": HEX}),
        ]
    ),
]


@pytest.mark.parametrize("value", WRONG_TYPES)
def test_r006_wrong_keys_and_types(rule_of, value):
    assert rule_of(value) == "R006"
    # Type errors come before value rules, wherever they are.
    assert rule_of({"name": "", **value}) == "R006"


def test_r006_keys_that_depend_on_something_unknown_are_neither_required_nor_refused(rule_of):
    for changes in {}, {"ndim": 1}, {"shape": ...}, {"files": [{**FILE, "index_blake3": HEX}]}:
        assert rule_of(document(fields=[field(kind="sparse", **changes)])) == "R014"
    dictionary = {"bytes": 100, "body_blake3": HEX}
    for changes in {}, {"dictionary": dictionary}, {"files": [{**FILE, "index_blake3": HEX}]}:
        assert rule_of(document(fields=[field(codec="lz4", **changes)])) == "R015"
    assert rule_of(document(fields=[field(kind="sparse", dictionary=dictionary)])) == "R006"
    assert rule_of(document(fields=[field(codec="lz4", ndim=1)])) == "R006"


def many(n):
    return [field(name=f"f{i}") for i in range(n)]


def chunks(n):
    return [HEX] * n


VALUES = [
    ("R007", document(name="")),
    ("R007", document(name="a/b")),
    ("R007", document(name="CON")),
    ("R007", document(fields=[field(name="../x")])),
    ("R007", document(fields=[field(name="weight")])),
    ("R007", document(fields=[field(name="_x")])),
    ("R008", document(fields=[field(), field()])),
    ("R008", document(fields=[field(name="aB"), field(name="b"), field(name="Ab")])),
    ("R010", document(shards=[0], samples=0)),
    ("R010", document(shards=[-1], samples=-1)),
    ("R010", document(shards=[2**20 + 1], samples=2**20 + 1)),
    ("R011", document(samples=3)),
    ("R011", document(samples=-2)),
    ("R012", document(metadata={"bytes": 0, "chunks": []})),
    ("R012", document(metadata={"bytes": -1, "chunks": []})),
    ("R012", document(metadata={"bytes": 1, "chunks": []})),
    ("R012", document(metadata={"bytes": 1, "chunks": chunks(2)})),
    ("R012", document(metadata={"bytes": 2**22 + 1, "chunks": chunks(1)})),
    ("R012", document(metadata={"bytes": 2**22, "chunks": chunks(2)})),
    ("R013", document(fields=[])),
    ("R013", document(fields=many(257))),
    ("R014", document(fields=[field(kind="Dense")])),
    ("R015", document(fields=[field(codec="")])),
    ("R016", document(fields=[field(dtype="uint7")])),
    ("R016", document(fields=[indexed(kind="text", dtype="int8", ndim=...)])),
    ("R017", document(fields=[indexed(codec="zstd", dtype="uint8", delta=0)])),
    ("R017", document(fields=[indexed(codec="zstd", dtype="uint8", delta=256)])),
    ("R017", document(fields=[indexed(codec="zstd", dtype="int8", delta=1)])),
    ("R017", document(fields=[field(delta=1)])),
    ("R018", document(fields=[field(shape=[-1])])),
    ("R018", document(fields=[field(shape=[2**48 + 1])])),
    ("R018", document(fields=[field(shape=[2**63 - 1, 0])])),
    ("R018", document(fields=[field(shape=[1] * 32)])),
    ("R018", document(fields=[indexed(ndim=0)])),
    ("R018", document(fields=[indexed(ndim=32)])),
    ("R019", document(fields=[indexed(codec="zstd-dict", dictionary={"bytes": 71, "body_blake3": HEX})])),
    (
        "R019",
        document(fields=[indexed(codec="zstd-dict", dictionary={"bytes": 1048641, "body_blake3": HEX})]),
    ),
    ("R020", document(fields=[field(files=[])])),
    ("R020", document(fields=[field(files=[FILE, FILE])])),
    ("R021", document(fields=[field(files=[{**FILE, "bytes": 79}])])),
    ("R021", document(fields=[field(files=[{**FILE, "bytes": 88}])])),
    ("R021", document(fields=[field(files=[{**FILE, "bytes": -80}])])),
    ("R021", document(fields=[indexed(files=[{"bytes": 101, "body_blake3": HEX, "index_blake3": HEX}])])),
    ("R021", document(fields=[indexed(files=[{"bytes": 96, "body_blake3": HEX, "index_blake3": HEX}])])),
]


@pytest.mark.parametrize(("rule", "value"), VALUES)
def test_values_out_of_range(rule_of, rule, value):
    assert rule_of(value) == rule


LEGAL = [
    document(samples=0, shards=[], fields=[field(files=[])]),
    document(fields=many(256)),
    document(name="_" * 63),
    document(metadata={"bytes": 2**22, "chunks": chunks(1)}),
    document(fields=[indexed(codec="zstd", dtype="uint8", delta=255)]),
    document(fields=[field(shape=[2**48, 0], files=[{**FILE, "bytes": 72}])]),
    document(fields=[indexed(codec="zstd-dict", dictionary={"bytes": 72, "body_blake3": HEX})]),
    document(fields=[indexed(kind="bytes", ndim=..., dtype="uint8", codec="zstd", delta=1)]),
]


@pytest.mark.parametrize("value", LEGAL)
def test_values_at_the_edge_of_their_range(rule_of, value):
    assert rule_of(value) is None


def test_the_rule_with_the_lowest_number_is_raised(rule_of):
    assert rule_of(document(samples=5, name="", fields=[])) == "R007"
    assert rule_of(document(samples=5, fields=[field(dtype="x", name="-")])) == "R007"
    assert rule_of(document(samples=5, shards=[0])) == "R010"


def test_an_error_of_a_field_names_it(rule_of, tmp_path):
    rule_of(document(fields=[field(), field(name="y", files=[{**FILE, "bytes": 1}])]))
    with pytest.raises(FormatError) as caught:
        Manifest.load(tmp_path)
    error = caught.value
    assert (error.rule, error.cache, error.field, error.shard) == ("R021", str(tmp_path), "y", 0)


LONG = "x" * 100_000
HOSTILE = [
    attributes("1" * 100_000),
    attributes("-" + "1" * 100_000),
    attributes("1e" + "1" * 100_000),
    attributes("1" * 100_000 + "e9"),
    attributes(f'{{"{LONG}":1,"{LONG}":2}}'),
    attributes(f'"{LONG}\\ud800"'),
    attributes("[" * 100_000),
    attributes('{"a":' * 100_000),
    document(format=LONG),
    document(format=[1] * 100_000),
    document(name=LONG),
    document(name=[LONG]),
    document(samples=LONG),
    document(fingerprint=[LONG]),
    document(shards=LONG),
    document(metadata=LONG),
    document(metadata={"bytes": 1, "chunks": [LONG]}),
    document(fields=[LONG]),
    document(fields=[field(name=LONG)]),
    document(fields=[field(kind=LONG)]),
    document(fields=[field(codec=LONG)]),
    document(fields=[field(dtype=LONG)]),
    document(fields=[field(shape=[2**48] * 100_000)]),
    document(fields=[field(**{LONG: 1})]),
    document(**{LONG: 1}),
]


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_an_error_is_short_however_long_what_it_names(rule_of, tmp_path, value):
    rule_of(value)
    with pytest.raises(FormatError) as caught:
        Manifest.load(tmp_path)
    assert len(str(caught.value)) < 800
    assert str(caught.value) in [str(problem) for problem in validate(tmp_path)]


@pytest.mark.parametrize("token", ["0." + "1" * 100_000, "1" * 100_000 + "e-99999", "1e-" + "1" * 100_000])
def test_a_long_number_that_rounds_to_a_finite_double_is_legal(rule_of, tmp_path, token):
    assert rule_of(attributes(token)) is None
    assert 0 <= Manifest.load(tmp_path).attributes["a"] < 2


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("R010", {"shards": [0] * 10_000, "samples": 0}),
        (
            "R021",
            {
                "shards": [2] * 3000,
                "samples": 6000,
                "fields": [field(files=[FILE | {"bytes": 1}] * 3000)],
            },
        ),
        ("R007", {"fields": [field(name="a.b")] * 1000}),
    ],
)
def test_a_flood_of_violations_takes_no_memory_and_is_counted(rule_of, tmp_path, rule, changes):
    assert rule_of(document(**changes)) == rule
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            Manifest.load(tmp_path)
        loaded = tracemalloc.get_traced_memory()[1]
        problems = validate(tmp_path)
        validated = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    length = (tmp_path / "manifest.json").stat().st_size
    assert loaded < 12 * length + 2**20
    assert validated < 12 * length + 2**22
    assert sum(problem.rule == rule for problem in problems) <= 1001


def test_manifests_are_values_that_sets_can_hold(vectors):
    first, again = (Manifest.load(vectors / "example" / "demo") for _ in range(2))
    assert len({first, again, Manifest.load(vectors / "example" / "empty")}) == 2
