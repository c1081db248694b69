use super::*;
use crate::dtype::DType;
use crate::field::{Codec, FieldKind};

const EMPTY: &str = concat!(
    r#"{"digest":"507f7e5e5ae2cc21b51996d37ad0d08f1a85ff01f53616cb09bf8e27fdf5fb4e","attributes":{},"#,
    r#""fields":[{"codec":"raw","dtype":"uint8","files":[],"kind":"dense","name":"x","shape":[]}],"#,
    r#""fingerprint":null,"format":1,"metadata":null,"name":"empty","samples":0,"shards":[]}"#
);

/// The manifest whose text after the digest is `rest`, sealed anew.
fn sealed(rest: &str) -> Vec<u8> {
    let digest = checksum::hex(&checksum::digest(format!("{{{rest}").as_bytes()));
    format!("{{\"digest\":\"{digest}\",{rest}").into_bytes()
}

fn rest() -> &'static str {
    &EMPTY[PREFIX..]
}

/// One dense and one indexed field, one shard of two samples, a dictionary and metadata.
const FULL: &str = concat!(
    r#""attributes":{"x":1.5},"fields":[{"codec":"raw","dtype":"uint8","files":[{"body_blake3":"HEX","bytes":96}],"kind":"dense","name":"a","shape":[2,2,3]},"#,
    r#"{"codec":"zstd-dict","delta":3,"dictionary":{"body_blake3":"HEX","bytes":72},"dtype":"uint8","files":[{"body_blake3":"HEX","bytes":112,"index_blake3":"HEX"}],"#,
    r#""kind":"ragged","name":"b","ndim":1}],"fingerprint":"f","format":1,"metadata":{"bytes":4194305,"chunks":["HEX","HEX"]},"name":"n","samples":2,"shards":[2]}"#
);

fn full() -> String {
    FULL.replace("HEX", &"0a".repeat(32))
}

/// The rule that `full` breaks when `from` is replaced by `to`.
fn broken(from: &str, to: &str) -> Option<u16> {
    let text = full();
    assert!(text.contains(from), "{from}");
    let error = Manifest::parse(&sealed(&text.replacen(from, to, 1))).expect_err(to);
    let kind = if error.rule_number() == Some(5) { Kind::UnknownVersion } else { Kind::Format };
    assert_eq!(error.kind(), kind, "{error}");
    error.rule_number()
}

#[test]
fn the_worked_example_is_read_and_written_to_the_byte() {
    let mut manifest = Manifest::parse(EMPTY.as_bytes()).unwrap();
    assert_eq!(manifest.cache_id(), 5_800_493_788_793_326_625);
    assert_eq!((manifest.samples, manifest.shards.len(), &*manifest.name), (0, 0, "empty"));
    assert_eq!(manifest.fields[0].field.kind, FieldKind::Dense([].into()));
    assert_eq!(manifest.to_bytes(), EMPTY.as_bytes());
}

#[test]
fn a_full_manifest_is_read_and_written_back() {
    let bytes = sealed(&full());
    let mut manifest = Manifest::parse(&bytes).unwrap();
    let b = &manifest.fields[1];
    assert_eq!((b.field.delta, b.field.codec, b.field.dtype), (3, Codec::ZstdDict, DType::UInt8));
    assert_eq!(b.dictionary.as_ref().map(|d| d.bytes), Some(72));
    assert_eq!(manifest.metadata.as_ref().unwrap().chunks.len(), 2);
    let before = manifest.digest;
    assert_eq!(manifest.to_bytes(), bytes);
    assert_eq!(manifest.digest, before);
}

#[test]
fn the_prefix_is_literal_and_every_byte_is_covered() {
    for at in 0..EMPTY.len() {
        let mut bytes = EMPTY.as_bytes().to_vec();
        bytes[at] ^= 1;
        let rule = Manifest::parse(&bytes).unwrap_err().rule_number();
        // A digit of the digest may become another digit; then the digest differs.
        let expected: &[_] = if at < PREFIX { &[Some(2), Some(3)] } else { &[Some(3)] };
        assert!(expected.contains(&rule), "byte {at}: {rule:?}");
    }
    for end in 0..EMPTY.len() {
        assert!(Manifest::parse(&EMPTY.as_bytes()[..end]).is_err());
    }
}

#[test]
fn json_is_strict_behind_a_good_digest() {
    for text in [r#""format":1}x"#, r#""format":1,}"#, r#""format":1,"digest":""}"#, r#""format":-0}"#, "", "}"] {
        assert_eq!(Manifest::parse(&sealed(text)).unwrap_err().rule_number(), Some(4), "{text}");
    }
    Manifest::parse(&sealed(&rest().replace(":", " : \n"))).unwrap();
}

#[test]
fn the_version_comes_before_everything_that_versions_may_change() {
    assert_eq!(Manifest::parse(&sealed(r#""format":2,"new":[]}"#)).unwrap_err().kind(), Kind::UnknownVersion);
    assert_eq!(broken(r#""format":1"#, r#""format":1.0"#), Some(5));
    assert_eq!(broken(r#""format":1"#, r#""format":"1""#), Some(5));
    assert_eq!(broken(r#""format":1,"#, ""), Some(5));
}

#[test]
fn keys_and_types_are_exact() {
    for (from, to) in [
        (r#""name":"n","#, ""),
        (r#""name":"n""#, r#""name":1"#),
        (r#""samples":2"#, r#""samples":2.0"#),
        (r#""samples":2"#, r#""samples":true"#),
        (r#""shards":[2]"#, r#""shards":2"#),
        (r#""shards":[2]"#, r#""shards":[2],"shape":[]"#),
        (r#""fingerprint":"f""#, r#""fingerprint":1"#),
        (r#""attributes":{"x":1.5}"#, r#""attributes":[]"#),
        (r#""delta":3"#, r#""delta":null"#),
        (r#""ndim":1"#, r#""ndim":1,"shape":[]"#),
        (r#""ndim":1"#, r#""n":1"#),
        (r#","shape":[2,2,3]"#, ""),
        (r#""codec":"raw","#, r#""codec":"raw","index_blake3":"","#),
        (r#""bytes":96"#, &format!(r#""bytes":96,"index_blake3":"{}""#, "0a".repeat(32))),
        (&format!(r#","index_blake3":"{}""#, "0a".repeat(32)), ""),
        ("0a0a", "0A0a"),
        ("0a0a", "0a0"),
        (r#""bytes":72"#, r#""bytes":72,"index_blake3":null"#),
        (r#""metadata":{"#, r#""metadata":{"x":1,"#),
        (r#""metadata":{"bytes":4194305,"#, r#""metadata":{"#),
    ] {
        assert_eq!(broken(from, to), Some(6), "{to}");
    }
}

#[test]
fn values_are_judged_by_the_rule_they_break() {
    for (rule, from, to) in [
        (7, r#""name":"n""#, r#""name":"a.b""#),
        (7, r#""name":"a""#, r#""name":"weight""#),
        (8, r#""name":"b""#, r#""name":"A""#),
        (10, r#""shards":[2]"#, r#""shards":[0]"#),
        (10, r#""shards":[2]"#, r#""shards":[1048577]"#),
        (10, r#""shards":[2]"#, r#""shards":[-1]"#),
        (11, r#""samples":2"#, r#""samples":-2"#),
        (11, r#""samples":2"#, r#""samples":3"#),
        (12, r#""bytes":4194305"#, r#""bytes":4194304"#),
        (12, r#""bytes":4194305"#, r#""bytes":-1"#),
        (12, r#""bytes":4194305"#, r#""bytes":9223372036854775807"#),
        (14, r#""kind":"dense""#, r#""kind":"tensor""#),
        (14, r#""kind":"ragged""#, r#""kind":"Ragged""#),
        (15, r#""codec":"raw""#, r#""codec":"lz4""#),
        (15, r#""codec":"zstd-dict""#, r#""codec":"zstd_dict""#),
        (16, r#""dtype":"uint8""#, r#""dtype":"u1""#),
        (16, r#""dtype":"uint8","files":[{"body_blake3"#, r#""dtype":"float128","files":[{"body_blake3"#),
        (17, r#""delta":3"#, r#""delta":0"#),
        (17, r#""delta":3"#, r#""delta":256"#),
        (17, r#""codec":"raw""#, r#""codec":"raw","delta":1"#),
        (18, r#""ndim":1"#, r#""ndim":0"#),
        (18, r#""ndim":1"#, r#""ndim":32"#),
        (18, r#""ndim":1"#, r#""ndim":-9223372036854775807"#),
        (18, "[2,2,3]", "[2,-2,3]"),
        (18, "[2,2,3]", "[0,281474976710657]"),
        (18, "[2,2,3]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,12]"),
        (19, r#""bytes":72"#, r#""bytes":71"#),
        (19, r#""bytes":72"#, r#""bytes":1048641"#),
        (20, r#""shards":[2]"#, r#""shards":[1,1]"#),
        (21, r#""bytes":96"#, r#""bytes":97"#),
        (21, r#""bytes":112"#, r#""bytes":113"#),
        (21, r#""bytes":112"#, r#""bytes":96"#),
        (21, r#""bytes":112"#, r#""bytes":-1"#),
        (21, "[2,2,3]", "[281474976710656]"),
    ] {
        assert_eq!(broken(from, to), Some(rule), "{to}");
    }
}

#[test]
fn a_cache_has_1_to_256_fields() {
    let field = r#"{"codec":"raw","dtype":"uint8","files":[],"kind":"dense","name":"NAME","shape":[]}"#;
    let with = |n: usize| {
        let fields: Vec<_> = (0..n).map(|i| field.replace("NAME", &format!("f{i}"))).collect();
        Manifest::parse(&sealed(&rest().replace(&field.replace("NAME", "x"), &fields.join(","))))
    };
    assert_eq!(with(256).unwrap().fields.len(), 256);
    assert_eq!(with(0).unwrap_err().rule_number(), Some(13));
    assert_eq!(with(257).unwrap_err().rule_number(), Some(13));
}

#[test]
fn what_an_unknown_kind_or_codec_would_need_is_left_open() {
    assert_eq!(broken(r#""kind":"dense","name":"a","shape":[2,2,3]"#, r#""kind":"tensor","name":"a""#), Some(14));
    assert_eq!(broken(r#""codec":"raw""#, r#""codec":"lz4","dictionary":{"body_blake3":"","bytes":1}"#), Some(6));
    let index = format!(r#","index_blake3":"{}""#, "0a".repeat(32));
    let unknown = full().replace(r#""codec":"zstd-dict""#, r#""codec":"lz4""#).replace(&index, "");
    assert_eq!(Manifest::parse(&sealed(&unknown)).unwrap_err().rule_number(), Some(15));
}

#[test]
fn every_breach_is_told_and_what_is_described_well_is_listed() {
    let text = full()
        .replace(r#""name":"a""#, r#""name":"weight""#)
        .replace("[2,2,3]", "[2,-2,3]")
        .replace(r#""bytes":112"#, r#""bytes":113"#)
        .replace(r#""name":"n""#, r#""name":"a.b""#)
        .replace(r#""bytes":4194305"#, r#""bytes":0"#);
    let mut told = Vec::new();
    let inventory = Inventory::read(&sealed(&text), &mut |breach| {
        told.push((breach.rule, breach.field.map(|(_, name)| name.to_owned()), breach.shard));
    });
    let inventory = inventory.unwrap();
    let weight = Some("weight".to_owned());
    let expected = [
        (7, None, None),
        (12, None, None),
        (7, weight.clone(), None),
        (18, weight, None),
        (21, Some("b".to_owned()), Some(0)),
    ];
    assert_eq!(told, expected);
    assert_eq!((inventory.samples, inventory.shards.as_deref()), (Some(2), Some(&[2][..])));
    assert!(inventory.has_metadata && inventory.metadata.is_none());
    assert!(inventory.fields[0].entry.is_none());
    let b = inventory.fields[1].entry.as_ref().unwrap();
    assert!(b.files == [None] && b.dictionary.is_some());
}

#[test]
fn what_a_message_shows_of_a_key_is_short() {
    let long = "k".repeat(1 << 20);
    for keys in [format!(r#""{long}":1,"#), format!(r#""{long}":1,"{long}":1,"#)] {
        let error = Manifest::parse(&sealed(&format!("{keys}{}", rest()))).unwrap_err();
        assert!(error.message().len() < 400 && error.message().contains(&"k".repeat(80)), "{}", error.message().len());
    }
}
