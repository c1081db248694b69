//! Dictionaries made from records that resemble those to come.

use zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation;
use zstd_safe::{get_error_name, is_error_kind, train_from_buffer};

use crate::error::{Error, Kind, Result};

/// Bytes that a trained dictionary may have.
pub const DICTIONARY_SIZES: std::ops::RangeInclusive<usize> = 256..=1 << 20;

/// So many bytes of records are looked at for each byte of the dictionary, as zstd recommends.
pub const SAMPLE_BYTES: usize = 100;

/// What the algorithm counts are pieces of so many bytes; a shorter record has none.
const PIECE: usize = 8;

/// Trained on three quarters of the records, five at the least, and tested on the others.
const MIN_RECORDS: usize = 7;

/// A dictionary of at most `size` bytes ([`DICTIONARY_SIZES`]) for records that resemble `records`.
///
/// The first 100 x `size` bytes of those that have at least 8 are used, and the result depends on nothing else. The algorithm is fastCover
/// of zstd's `ZDICT_trainFromBuffer` with its default parameters, after COVER: Liao, Petri, Moffat and Wirth,
/// "Effective construction of relative Lempel-Ziv dictionaries", WWW 2016.
///
/// # Errors
/// [`Kind::Value`] if `size` is out of range, [`Kind::Schema`] if the records are too few or too small.
pub fn train_dictionary(records: &[&[u8]], size: usize) -> Result<Vec<u8>> {
    if !DICTIONARY_SIZES.contains(&size) {
        let (low, high) = (DICTIONARY_SIZES.start(), DICTIONARY_SIZES.end());
        return Err(Error::new(Kind::Value, format!("size={size}: a dictionary is trained to {low} to {high} bytes")));
    }
    let (bytes, sizes) = gather(records, size.saturating_mul(SAMPLE_BYTES))?;
    // Fewer bytes than a piece would make zstd read beyond them, so they never get there.
    if sizes.len() < MIN_RECORDS {
        return Err(too_little(records, "at least 7 of 8 bytes and more are needed, and thousands are better"));
    }
    let mut dictionary = Vec::new();
    dictionary.try_reserve_exact(size).map_err(|_| memory(size))?;
    match train_from_buffer(&mut dictionary, &bytes, &sizes) {
        Ok(_) => Ok(dictionary),
        Err(code) if is_error_kind(code, ZSTD_error_memory_allocation) => Err(memory(bytes.len())),
        Err(code) => Err(too_little(records, &format!("zstd says {:?}", get_error_name(code)))),
    }
}

/// The records in a row and their lengths: the first `limit` bytes.
fn gather(records: &[&[u8]], limit: usize) -> Result<(Vec<u8>, Vec<usize>)> {
    let total = records.iter().fold(0usize, |total, record| total.saturating_add(record.len())).min(limit);
    let (mut bytes, mut sizes) = (Vec::new(), Vec::new());
    bytes.try_reserve_exact(total).map_err(|_| memory(total))?;
    for record in records {
        let used = record.get(..limit - bytes.len()).unwrap_or(record);
        if used.len() >= PIECE {
            bytes.extend_from_slice(used);
            sizes.push(used.len());
        }
    }
    Ok((bytes, sizes))
}

fn too_little(records: &[&[u8]], why: &str) -> Error {
    let bytes: usize = records.iter().map(|record| record.len()).sum();
    let found = format!("no dictionary can be trained from these {} records of {bytes} bytes in all", records.len());
    Error::new(Kind::Schema, format!("{found}: {why}. Give more records, or use zstd without a dictionary"))
}

fn memory(bytes: usize) -> Error {
    Error::new(Kind::Memory, format!("no memory for {bytes} bytes to train a dictionary in"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::{Codec, Field, FieldKind};
    use crate::format::codec::{Coding, Encoder};

    fn records(count: u64) -> Vec<Vec<u8>> {
        let record = |i: u64| {
            let noise = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            format!("{{\"user\": {i}, \"session\": \"{noise:016x}\", \"kind\": \"page view\"}}").into_bytes()
        };
        (0..count).map(record).collect()
    }

    fn borrowed(records: &[Vec<u8>]) -> Vec<&[u8]> {
        records.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn a_trained_dictionary_is_marked_as_one_and_makes_small_records_smaller() {
        let records = records(2000);
        let dictionary = train_dictionary(&borrowed(&records), 4096).unwrap();
        assert!(dictionary.starts_with(&[0x37, 0xA4, 0x30, 0xEC]) && dictionary.len() <= 4096);
        let stored = |codec, dictionary: Option<&[u8]>| {
            let field = Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta: 0 };
            let coding = Coding::new(&field, 3, dictionary).unwrap();
            let mut encoder = Encoder::default();
            records.iter().map(|record| encoder.encode(&coding, record).unwrap().len()).sum::<usize>()
        };
        let (plain, trained) = (stored(Codec::Zstd, None), stored(Codec::ZstdDict, Some(&dictionary)));
        assert!(trained * 2 < plain, "{trained} bytes with the dictionary, {plain} without");
    }

    #[test]
    fn the_same_records_give_the_same_dictionary_and_only_the_first_100_fold_of_it_count() {
        let all = records(3000);
        let first = train_dictionary(&borrowed(&all), 512).unwrap();
        assert_eq!(train_dictionary(&borrowed(&all), 512).unwrap(), first);
        let limit = 512 * SAMPLE_BYTES;
        let mut used = Vec::new();
        let mut total = 0;
        for record in &all {
            let part = &record[..record.len().min(limit - total)];
            total += part.len();
            used.push(part);
        }
        assert_eq!(total, limit);
        used.retain(|part| !part.is_empty());
        assert!(used.len() < all.len());
        assert_eq!(train_dictionary(&used, 512).unwrap(), first);
    }

    #[test]
    fn too_few_and_too_small_records_are_refused_with_advice() {
        let few = records(6);
        let short = vec![vec![7; 7]; 100_000];
        // Without the long ones at the end, zstd would be given nothing but empty records to train on.
        let mut empty = vec![Vec::new(); 300];
        empty.extend(records(6));
        for records in [Vec::new(), few, short, empty] {
            let error = train_dictionary(&borrowed(&records), 1024).unwrap_err();
            assert_eq!(error.kind(), Kind::Schema);
            assert!(error.to_string().contains("use zstd without a dictionary"), "{error}");
        }
    }

    #[test]
    fn sizes_are_kept_to_their_range() {
        let records = records(1000);
        for size in [0, 255, (1 << 20) + 1] {
            assert_eq!(train_dictionary(&borrowed(&records), size).unwrap_err().kind(), Kind::Value);
        }
        assert!(train_dictionary(&borrowed(&records), 256).unwrap().len() <= 256);
        assert!(train_dictionary(&borrowed(&records), 1 << 20).unwrap().len() <= 1 << 20);
    }
}
