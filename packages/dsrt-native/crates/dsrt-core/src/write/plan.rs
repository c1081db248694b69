//! The plan of a cache as its journal notes it: all that its bytes depend on apart from the samples.

use super::options::{Dictionary, WriterOptions};
use super::sealed::{file_from_json, file_to_json, get, int, object, string};
use crate::error::Result;
use crate::field::Codec;
use crate::format::json::{Object, Value};
use crate::format::manifest::{FileEntry, Manifest};

/// Another one for every change of what is in a work directory.
const JOURNAL: u64 = 2;

/// The version of Arrow that batches are encoded with.
const ARROW: &str = "60.1.0";

/// The key under which the digests of trained dictionaries are: they are found, not planned.
const TRAINED: &str = "trained";

/// The plan of a cache whose manifest without samples is `empty`.
pub(super) fn plan(options: &WriterOptions, empty: &Manifest) -> Result<Value> {
    // The manifest says most of it, so the plan says it as the manifest does.
    let Value::Object(mut plan) = Value::parse(&empty.clone().to_bytes())? else { return Ok(Value::Null) };
    ["digest", "format", "samples", "shards"].iter().for_each(|key| drop(plan.remove(key)));
    if let Some(Value::Array(fields)) = plan.get_mut("fields") {
        for (entry, (field, encoding)) in fields.iter_mut().zip(&options.fields) {
            let Value::Object(entry) = entry else { continue };
            entry.remove("files");
            if field.codec != Codec::Raw {
                entry.insert("level".into(), Value::Int(encoding.level.into()));
            }
            if let Some(Dictionary::Train(size)) = &encoding.dictionary {
                entry.remove("dictionary");
                entry.insert("train".into(), int(*size as u64));
            }
        }
    }
    let columns = options.metadata.iter().map(|(name, kind)| Value::Array(vec![string(name), string(&kind.name())]));
    let versions = object([
        ("arrow", string(ARROW)),
        ("journal", int(JOURNAL)),
        ("writer", string(env!("CARGO_PKG_VERSION"))),
        ("zstd", string(zstd_safe::version_string())),
    ]);
    plan.insert("metadata".into(), Value::Array(columns.collect()));
    plan.insert("samples_per_shard".into(), int(options.samples_per_shard));
    plan.insert("shard_bytes".into(), int(options.shard_bytes));
    plan.insert("versions".into(), versions);
    Ok(Value::Object(plan))
}

/// The same plan, with the dictionaries that were trained by it.
pub(super) fn with_trained(plan: Value, options: &WriterOptions, manifest: &Manifest) -> Value {
    let Value::Object(mut plan) = plan else { return plan };
    let fields = options.fields.iter().zip(&manifest.fields);
    let trained = fields.filter_map(|((field, encoding), entry)| match (&encoding.dictionary, &entry.dictionary) {
        (Some(Dictionary::Train(_)), Some(file)) => Some(((*field.name).into(), file_to_json(file))),
        _ => None,
    });
    plan.insert(TRAINED.into(), Value::Object(trained.collect::<Object>()));
    Value::Object(plan)
}

/// The dictionary that was trained for a field.
pub(super) fn trained(plan: &Value, field: &str) -> Option<FileEntry> {
    file_from_json(get(get(plan, TRAINED)?, field)?)
}

/// In what the plan of an earlier run is another one than ours, if it is (R062).
pub(super) fn difference(theirs: &Value, ours: &Value) -> Option<String> {
    let mut found = Vec::new();
    for (key, name) in [
        ("name", "the name"),
        ("fingerprint", "the fingerprint"),
        ("attributes", "attributes"),
        ("metadata", "metadata columns"),
        ("samples_per_shard", "samples_per_shard"),
        ("shard_bytes", "shard_bytes"),
        ("versions", "the versions of DSRT, zstd or Arrow"),
    ] {
        if get(theirs, key) != get(ours, key) {
            found.push(name.to_owned());
        }
    }
    fields_differ(get(theirs, "fields"), get(ours, "fields"), &mut found);
    match found.pop() {
        None => None,
        Some(last) if found.is_empty() => Some(last),
        Some(last) => Some(format!("{} and {last}", found.join(", "))),
    }
}

fn fields_differ(theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<String>) {
    let (Some(Value::Array(theirs)), Some(Value::Array(ours))) = (theirs, ours) else {
        return found.push("the fields".to_owned());
    };
    let same = |(theirs, ours)| get(theirs, "name") == get(ours, "name");
    if theirs.len() != ours.len() || !theirs.iter().zip(ours).all(same) {
        return found.push("the fields".to_owned());
    }
    for (theirs, ours) in theirs.iter().zip(ours).filter(|(theirs, ours)| theirs != ours) {
        let (Value::Object(theirs), Value::Object(ours)) = (theirs, ours) else { continue };
        let mut keys: Vec<_> =
            theirs.keys().chain(ours.keys()).filter(|key| theirs.get(key) != ours.get(key)).collect();
        keys.sort();
        keys.dedup();
        if let Some(Value::Str(name)) = ours.get("name") {
            found.push(format!("field {name} ({})", keys.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::FieldKind;
    use crate::write::options::tests::{field, options};

    fn options_of_two_fields() -> WriterOptions {
        let fields = vec![
            field("a", FieldKind::Dense([2].into()), DType::UInt8, Codec::Zstd),
            field("b", FieldKind::Text, DType::UInt8, Codec::Raw),
        ];
        options(fields, &[("n", "int8")])
    }

    fn planned(options: &WriterOptions) -> Value {
        plan(options, &options.manifest("x").unwrap()).unwrap()
    }

    #[test]
    fn equal_options_are_an_equal_plan_also_when_read_back() {
        let ours = planned(&options_of_two_fields());
        let mut text = Vec::new();
        ours.write(&mut text);
        assert_eq!(difference(&Value::parse(&text).unwrap(), &ours), None);
    }

    #[test]
    fn a_difference_is_named() {
        let ours = planned(&options_of_two_fields());
        let named = |change: fn(&mut WriterOptions)| {
            let mut options = options_of_two_fields();
            change(&mut options);
            difference(&planned(&options), &ours).unwrap()
        };
        assert_eq!(named(|options| options.fingerprint = Some("f".into())), "the fingerprint");
        assert_eq!(named(|options| options.metadata.clear()), "metadata columns");
        assert_eq!(named(|options| options.fields[0].1.level = 4), "field a (level)");
        assert_eq!(named(|options| options.fields[0].0.delta = 3), "field a (delta)");
        assert_eq!(named(|options| options.fields.swap(0, 1)), "the fields");
        let several = named(|options| {
            options.shard_bytes = 1;
            options.fields[1].0.kind = FieldKind::Ragged(1);
            options.attributes = object([("a", int(1))]);
        });
        assert_eq!(several, "attributes, shard_bytes and field b (kind, ndim)");
    }

    #[test]
    fn options_that_change_no_byte_are_not_in_it() {
        let mut options = options_of_two_fields();
        let ours = planned(&options);
        (options.threads, options.replace) = (7, true);
        options.fields[1].1.level = 9;
        assert_eq!(difference(&planned(&options), &ours), None);
    }

    #[test]
    fn the_version_of_arrow_is_the_one_that_is_built_in() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        assert!(lock.contains(&format!("name = \"arrow-ipc\"\nversion = \"{ARROW}\"")));
    }
}
