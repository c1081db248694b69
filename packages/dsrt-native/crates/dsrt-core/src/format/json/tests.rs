use super::Object;
use super::Value;
use super::parse::parse;
use proptest::prelude::*;

fn good(text: &str) -> Value {
    parse(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn bad(text: impl AsRef<[u8]>) -> String {
    let error = parse(text.as_ref()).expect_err(&String::from_utf8_lossy(text.as_ref()));
    assert_eq!(error.rule_number(), Some(4));
    error.to_string()
}

#[test]
fn numbers_keep_to_the_rules_of_the_format() {
    assert_eq!(good("0"), Value::Int(0));
    assert_eq!(good("-9223372036854775807"), Value::Int(-i64::MAX));
    assert_eq!(good("-0.0"), Value::Float("-0.0".into()));
    assert_eq!(good("1e-400"), Value::Float("1e-400".into()));
    for text in ["-0", "01", "-", "1.", ".5", "1e", "+1", "9223372036854775808", "-9223372036854775808", "1e309"] {
        bad(text);
    }
    for text in ["NaN", "Infinity", "0x1", "1_0", "[-0]", "{\"a\":[1e400]}"] {
        bad(text);
    }
}

#[test]
fn strings_must_be_well_formed() {
    assert_eq!(good(r#""\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#), Value::Str("é😀\"\\/\u{8}\u{c}\n\r\t".into()));
    for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\u0041""#, r#""\x""#, r#""\u12g4""#, "\"a", "\"\n\""] {
        bad(text);
    }
    bad(b"\"\xff\"");
    bad("\u{feff}{}");
}

#[test]
fn a_key_appears_once_however_it_is_escaped() {
    assert!(bad(r#"{"a":{"b":1,"\u0062":2}}"#).contains("second key \"b\""));
    assert!(matches!(good(r#"{"a":1,"A":1}"#), Value::Object(entries) if entries.len() == 2));
}

#[test]
fn nesting_ends_at_level_64() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    good(&nested(64));
    bad(nested(65));
    bad("[".repeat(1 << 20));
}

#[test]
fn what_is_not_json_is_refused() {
    for text in ["", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "[1 2]", "nul", "1 2", "{}x", "'a'", "[,1]"]
    {
        bad(text);
    }
    good(" \t\r\n{ \"a\" : [ 1 , true , false , null ] }\n");
    bad("\u{a0}1");
}

#[test]
fn keys_are_found_sorted_changed_and_taken_out() {
    let Value::Object(mut object) = good(r#"{"b":1,"a":2,"\u00e9":3,"":4}"#) else { panic!() };
    assert!(object.keys().eq(["", "a", "b", "é"]));
    assert_eq!((object.get("a"), object.get("c")), (Some(&Value::Int(2)), None));
    object.insert("aa".into(), Value::Null);
    object.insert("b".into(), Value::Bool(true));
    assert_eq!(object.remove("a"), Some(Value::Int(2)));
    assert_eq!((object.remove("a"), object.len()), (None, 4));
    let mut text = Vec::new();
    Value::Object(object).write(&mut text);
    assert_eq!(String::from_utf8(text).unwrap(), r#"{"":4,"aa":null,"b":true,"é":3}"#);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-i64::MAX..=i64::MAX).prop_map(Value::Int),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(|x| Value::Float(format!("{x:e}").into())),
        any::<String>().prop_map(|s| Value::Str(s.into())),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((any::<String>().prop_map(Into::into), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_parses_back(value in values()) {
        let mut text = Vec::new();
        value.write(&mut text);
        prop_assert_eq!(parse(&text).unwrap(), value.clone());
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn nothing_makes_the_parser_panic(text in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&text);
    }

    #[test]
    fn what_it_accepts_another_parser_accepts(text in r#"[\[\]{}",:0-9eE.+\-tfn\\u]{0,12}"#) {
        if parse(text.as_bytes()).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        }
    }
}
