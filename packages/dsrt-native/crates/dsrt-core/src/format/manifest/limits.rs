//! What the values of a manifest must keep once its types are right: rules R007 to R021, every breach of them.

use std::fmt;

use super::memory::gathered;
use super::types::{Raw, RawField};
use super::values::{codec, dtype, kind};
use super::{CHUNK, Error, Result, breach};
use crate::dtype::DType;
use crate::field::{Codec, Field};
use crate::format::names::{is_cache_name, is_field_name, short};
use crate::format::shard::{MAX_AXES, MAX_SAMPLES, dense_bytes, fixed_file_bytes, index_start, record_bytes};

/// Lengths that a dictionary file may have.
const DICTIONARY: std::ops::RangeInclusive<i64> = 72..=1_048_640;

/// The most payload fields.
const MAX_FIELDS: usize = 256;

/// A value that breaks a rule. The message is not made before it is wanted: a manifest of 64 MiB can break a rule tens
/// of millions of times.
pub struct Breach<'a> {
    /// The number of the rule.
    pub rule: u16,
    /// Number and name of the field whose value it is.
    pub field: Option<(usize, &'a str)>,
    /// The shard whose value it is.
    pub shard: Option<u64>,
    /// What was found and expected.
    pub message: fmt::Arguments<'a>,
}

impl Breach<'_> {
    pub(super) fn error(&self) -> Error {
        let mut error = breach(self.rule, self.message.to_string());
        if let Some((_, name)) = self.field {
            error = error.in_field(&name.into());
        }
        match self.shard {
            Some(shard) => error.in_shard(shard),
            None => error,
        }
    }
}

/// Tells every breach: rules in the order of the manifest's keys and fields, not of their numbers. A check whose premise
/// is broken itself is left out.
pub(super) fn check(raw: &Raw, tell: &mut dyn FnMut(Breach<'_>)) -> Result<()> {
    let is_legal = cache(raw, tell);
    let again = named_again(&raw.fields)?;
    for (number, (field, again)) in raw.fields.iter().zip(again).enumerate() {
        let mut is_sound = true;
        let mut own = |rule, message: fmt::Arguments| {
            is_sound = false;
            tell(Breach { rule, field: Some((number, field.name)), shard: None, message });
        };
        check_field(field, raw.shards.len(), &mut own);
        if again {
            own(8, format_args!("another field has this name, but for the case of letters"));
        }
        if is_legal && is_sound {
            check_lengths(field, &raw.shards, &mut |shard, message| {
                tell(Breach { rule: 21, field: Some((number, field.name)), shard: Some(shard), message });
            });
        }
    }
    Ok(())
}

/// Of each field, whether one before it has its name but for the case of letters (R008).
fn named_again(fields: &[RawField]) -> Result<Vec<bool>> {
    let name = |number: &usize| fields.get(*number).map_or("", |field| field.name);
    let lower = |number: &usize| name(number).bytes().map(|letter| letter.to_ascii_lowercase());
    let mut ordered = gathered((0..fields.len()).map(Ok))?;
    ordered.sort_unstable_by(|a, b| lower(a).cmp(lower(b)).then(a.cmp(b)));
    let mut again = gathered(fields.iter().map(|_| Ok(false)))?;
    for pair in ordered.windows(2) {
        if let [first, second] = pair
            && name(first).eq_ignore_ascii_case(name(second))
            && let Some(found) = again.get_mut(*second)
        {
            *found = true;
        }
    }
    Ok(again)
}

/// R007 of the cache's name and R010 to R013. Returns whether shards have legal numbers of samples.
fn cache(raw: &Raw, tell: &mut dyn FnMut(Breach<'_>)) -> bool {
    let mut own = |rule, shard, message: fmt::Arguments| tell(Breach { rule, field: None, shard, message });
    if !is_cache_name(raw.name) {
        own(7, None, format_args!("{:?} is not a name that a cache may have", short(raw.name)));
    }
    let mut is_legal = true;
    for (shard, count) in (0..).zip(&raw.shards) {
        if !(1..=MAX_SAMPLES as i64).contains(count) {
            is_legal = false;
            own(10, Some(shard), format_args!("a shard of {count} samples is not one of 1 to {MAX_SAMPLES}"));
        }
    }
    let sum: i128 = raw.shards.iter().map(|count| i128::from(*count)).sum();
    if i128::from(raw.samples) != sum {
        own(11, None, format_args!("the manifest says {} samples, its shards hold {sum}", raw.samples));
    }
    if let Some(metadata) = &raw.metadata {
        let (bytes, chunks) = (metadata.bytes, metadata.chunks.len());
        if bytes < 1 || u64::try_from(bytes).is_ok_and(|bytes| bytes.div_ceil(CHUNK) != chunks as u64) {
            let message = format_args!("metadata.arrow of {bytes} bytes cannot have {chunks} digests of 4 MiB each");
            own(12, None, message);
        }
    }
    if !(1..=MAX_FIELDS).contains(&raw.fields.len()) {
        let found = raw.fields.len();
        own(13, None, format_args!("the cache has {found} fields; the format allows 1 to {MAX_FIELDS}"));
    }
    is_legal
}

/// R007 and R014 to R020 of one field.
fn check_field(raw: &RawField, shards: usize, own: &mut dyn FnMut(u16, fmt::Arguments<'_>)) {
    if !is_field_name(raw.name) {
        own(7, format_args!("{:?} is not a name that a field may have", short(raw.name)));
    }
    if kind(raw).is_none() {
        own(14, format_args!("{:?} is not a kind of field: dense, ragged, bytes or text", short(raw.kind)));
    }
    if codec(raw).is_none() {
        own(15, format_args!("{:?} is not a codec: raw, zstd or zstd-dict", short(raw.codec)));
    }
    let dtype = dtype(raw);
    match dtype {
        None => own(16, format_args!("{:?} is not a dtype of the format", short(raw.dtype))),
        Some(found) if matches!(raw.kind, "bytes" | "text") && found != DType::UInt8 => {
            own(16, format_args!("a field of {} has dtype uint8, not {}", raw.kind, raw.dtype));
        }
        Some(_) => {}
    }
    if let Some(delta) = raw.delta {
        if !(1..=255).contains(&delta) {
            own(17, format_args!("a delta of {delta} is not one of 1 to 255"));
        } else if dtype.is_some_and(|dtype| dtype != DType::UInt8) || raw.codec == Codec::Raw.name() {
            own(17, format_args!("delta needs dtype uint8 and a codec other than raw"));
        }
    }
    check_axes(raw, dtype.map_or(1, DType::size), own);
    if let (true, Some(file)) = (raw.codec == Codec::ZstdDict.name(), &raw.dictionary)
        && !DICTIONARY.contains(&file.bytes)
    {
        let (least, most) = (DICTIONARY.start(), DICTIONARY.end());
        own(19, format_args!("a dictionary file of {} bytes is not one of {least} to {most}", file.bytes));
    }
    if raw.files.len() != shards {
        own(20, format_args!("the field lists {} files for {shards} shards", raw.files.len()));
    }
}

/// R018.
fn check_axes(raw: &RawField, itemsize: usize, own: &mut dyn FnMut(u16, fmt::Arguments<'_>)) {
    match (raw.kind, &raw.shape, raw.ndim) {
        ("dense", Some(shape), _) => {
            let axes = || shape.iter().map(|axis| u64::try_from(*axis).unwrap_or(u64::MAX));
            if shape.len() as u64 > MAX_AXES || record_bytes(axes(), itemsize).is_none() {
                let (axes, shown) = (shape.len(), shape.get(..32).unwrap_or(shape));
                own(18, format_args!("the shape of {axes} axes, {shown:?}, is not one the format allows"));
            }
        }
        ("ragged", _, Some(ndim)) if !(1..=MAX_AXES as i64).contains(&ndim) => {
            own(18, format_args!("ndim is {ndim}, not one of 1 to {MAX_AXES}"));
        }
        _ => {}
    }
}

/// R021 of a field that keeps all other rules.
fn check_lengths(raw: &RawField, shards: &[i64], own: &mut dyn FnMut(u64, fmt::Arguments<'_>)) {
    let Some(field) = super::values::field(raw) else { return };
    for ((shard, file), count) in (0..).zip(&raw.files).zip(shards) {
        if !u64::try_from(*count).is_ok_and(|count| fits(&field, file.bytes, count)) {
            let bytes = file.bytes;
            own(shard, format_args!("a file of {bytes} bytes cannot hold {count} records of the field"));
        }
    }
}

fn fits(field: &Field, bytes: i64, count: u64) -> bool {
    match dense_bytes(field) {
        Some(stride) if field.is_fixed() => i128::try_from(fixed_file_bytes(stride, count)) == Ok(i128::from(bytes)),
        _ => u64::try_from(bytes).is_ok_and(|bytes| index_start(field, bytes, count).is_some()),
    }
}
