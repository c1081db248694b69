//! Records on their way into a shard: the delta filter, then the codec.

use zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation;
use zstd_safe::{
    CCtx, CDict, CParameter, DDict, ErrorCode, ResetDirective, compress_bound, get_error_name, is_error_kind,
};

use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};

/// What a record beyond this needed is not kept for the small ones behind it.
const LARGE: usize = 16 << 20;

/// How the records of one field are encoded. Threads share it.
pub struct Coding {
    zstd: Option<Zstd>,
    delta: usize,
}

struct Zstd {
    level: i32,
    dictionary: Option<CDict<'static>>,
}

/// Encodes records, one after the other, with one reused context of zstd for all fields.
///
/// What becomes of a record depends on nothing that was encoded before it: a context that is reused finds what it was
/// left with in its tables, and never looks beyond the beginning of the frame.
#[derive(Default)]
pub struct Encoder<'a> {
    zstd: Option<CCtx<'a>>,
    /// What the context is set up for.
    coding: Option<&'a Coding>,
    filtered: Vec<u8>,
    frame: Vec<u8>,
}

impl Coding {
    /// For records of `field`. `level` counts where the codec is zstd; `dictionary` is the body of the field's
    /// dictionary, and must be usable where it claims to be a trained one.
    pub fn new(field: &Field, level: i32, dictionary: Option<&[u8]>) -> Result<Self> {
        let zstd = match field.codec {
            Codec::Raw => None,
            Codec::Zstd | Codec::ZstdDict => {
                Some(Zstd { level, dictionary: dictionary.map(|d| digest(d, level)).transpose()? })
            }
        };
        Ok(Self { zstd, delta: usize::from(field.delta) })
    }

    /// Whether records are stored as they are.
    pub fn is_raw(&self) -> bool {
        self.zstd.is_none()
    }
}

impl<'a> Encoder<'a> {
    /// The bytes to store for a record. `bytes` itself if the codec is raw.
    pub fn encode<'b>(&'b mut self, coding: &'a Coding, bytes: &'b [u8]) -> Result<&'b [u8]> {
        let Some(zstd) = &coding.zstd else {
            return Ok(bytes);
        };
        if !self.coding.is_some_and(|known| std::ptr::eq(known, coding)) {
            self.set_up(zstd)?;
            self.coding = Some(coding);
        }
        let source = if coding.delta > 0 {
            reserve(&mut self.filtered, bytes.len())?;
            difference(bytes, coding.delta, &mut self.filtered);
            &self.filtered
        } else {
            bytes
        };
        reserve(&mut self.frame, compress_bound(source.len()))?;
        let context = self.zstd.as_mut().ok_or_else(|| Error::new(Kind::Internal, "an encoder has no context"))?;
        context.compress2(&mut self.frame, source).map_err(|code| refused("compressing a record", code))?;
        Ok(&self.frame)
    }

    fn set_up(&mut self, zstd: &'a Zstd) -> Result<()> {
        // Gone while it is half set up.
        self.coding = None;
        if self.zstd.is_none() {
            self.zstd = CCtx::try_create();
        }
        let no_memory = || Error::new(Kind::Memory, "zstd has no memory for a context");
        let context = self.zstd.as_mut().ok_or_else(no_memory)?;
        let failed = |code| refused("setting up zstd", code);
        context.reset(ResetDirective::SessionAndParameters).map_err(failed)?;
        // Frames say their size and nothing else that could be left out (R036 of the format).
        let parameters = [
            CParameter::CompressionLevel(zstd.level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).map_err(failed)?;
        }
        if let Some(dictionary) = &zstd.dictionary {
            context.ref_cdict(dictionary).map_err(failed)?;
        }
        Ok(())
    }
}

fn digest(dictionary: &[u8], level: i32) -> Result<CDict<'static>> {
    match (CDict::try_create(dictionary, level), DDict::try_create(dictionary)) {
        (Some(digested), Some(_)) => Ok(digested),
        _ => Err(Error::new(
            Kind::Schema,
            "the dictionary begins like a trained one, and zstd cannot load it: it is damaged",
        )),
    }
}

/// A record as the delta filter leaves it to zstd.
pub fn filter(bytes: &[u8], delta: u8) -> Vec<u8> {
    if delta == 0 {
        return bytes.to_vec();
    }
    let mut filtered = Vec::with_capacity(bytes.len());
    difference(bytes, usize::from(delta), &mut filtered);
    filtered
}

/// Any bytes can be compressed, so what remains is memory and mistakes of ours.
fn refused(doing: &str, code: ErrorCode) -> Error {
    let kind = if is_error_kind(code, ZSTD_error_memory_allocation) { Kind::Memory } else { Kind::Internal };
    Error::new(kind, format!("{doing}: zstd says {:?}", get_error_name(code)))
}

fn reserve(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    buffer.clear();
    if buffer.capacity() > LARGE && bytes <= LARGE {
        *buffer = Vec::new();
    }
    let reserved = buffer.try_reserve(bytes);
    reserved.map_err(|_| Error::new(Kind::Memory, format!("no memory for {bytes} bytes to encode a record in")))
}

/// Each byte less the one `distance` before it, modulo 256; the first `distance` bytes as they are.
fn difference(bytes: &[u8], distance: usize, out: &mut Vec<u8>) {
    let (first, rest) = bytes.split_at(distance.min(bytes.len()));
    out.extend_from_slice(first);
    out.extend(rest.iter().zip(bytes).map(|(byte, before)| byte.wrapping_sub(*before)));
}

#[cfg(test)]
mod tests {
    use zstd_safe::{DCtx, find_frame_compressed_size, get_dict_id_from_frame, get_frame_content_size};

    use super::*;
    use crate::dtype::DType;
    use crate::field::FieldKind;

    fn coding(codec: Codec, level: i32, delta: u8, dictionary: Option<&[u8]>) -> Coding {
        let field = Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta };
        Coding::new(&field, level, dictionary).unwrap()
    }

    fn frame(coding: &Coding, record: &[u8]) -> Vec<u8> {
        Encoder::default().encode(coding, record).unwrap().to_vec()
    }

    #[test]
    fn raw_is_the_bytes_themselves() {
        assert_eq!(frame(&coding(Codec::Raw, 3, 0, None), b"abc"), b"abc");
    }

    #[test]
    fn every_record_is_one_frame_that_says_its_size_and_no_more() {
        let coding = coding(Codec::Zstd, 3, 0, None);
        let mut encoder = Encoder::default();
        for size in [0, 1, 255, 256, 65791, 65792, 1 << 20] {
            let record: Vec<u8> = (0..size).map(|i| (i / 3) as u8).collect();
            let frame = encoder.encode(&coding, &record).unwrap();
            assert_eq!(find_frame_compressed_size(frame).unwrap(), frame.len());
            assert_eq!(get_frame_content_size(frame).unwrap(), Some(size as u64));
            assert_eq!(frame[4] & 0b1111, 0, "no checksum, no reserved bit, no dictionary id");
            let mut back = Vec::with_capacity(size);
            DCtx::create().decompress(&mut back, frame).unwrap();
            assert_eq!(back, record);
        }
    }

    #[test]
    fn the_memory_of_a_giant_record_goes_with_the_next_small_one() {
        let coding = coding(Codec::Zstd, 1, 1, None);
        let mut encoder = Encoder::default();
        encoder.encode(&coding, &vec![7; LARGE + 1]).unwrap();
        assert!(encoder.filtered.capacity() > LARGE && encoder.frame.capacity() > LARGE);
        encoder.encode(&coding, &[7; 1000]).unwrap();
        assert!(encoder.filtered.capacity() < LARGE && encoder.frame.capacity() < LARGE);
    }

    #[test]
    fn a_run_of_one_byte_stays_within_the_bound_on_expansion() {
        let record = vec![0; 8 << 20];
        let frame = frame(&coding(Codec::Zstd, 3, 0, None), &record).len();
        assert!(record.len() <= 32768 * frame);
    }

    #[test]
    fn a_dictionary_helps_and_is_not_named_in_the_frame() {
        let dictionary = b"the quick brown fox jumps over the lazy dog, and again and again";
        let record = b"the lazy dog jumps over the quick brown fox";
        let plain = frame(&coding(Codec::Zstd, 3, 0, None), record).len();
        let coding = coding(Codec::ZstdDict, 3, 0, Some(dictionary));
        let mut encoder = Encoder::default();
        for _ in 0..2 {
            let frame = encoder.encode(&coding, record).unwrap();
            assert!(frame.len() < plain);
            assert_eq!(get_dict_id_from_frame(frame), None);
            let mut back = Vec::with_capacity(record.len());
            DCtx::create().decompress_using_dict(&mut back, frame, dictionary).unwrap();
            assert_eq!(back, record);
        }
    }

    #[test]
    fn a_dictionary_that_only_looks_trained_is_refused() {
        let field =
            Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec: Codec::ZstdDict, delta: 0 };
        let error = Coding::new(&field, 3, Some(b"\x37\xA4\x30\xEC and nonsense")).err().unwrap();
        assert_eq!(error.kind(), Kind::Schema);
    }

    #[test]
    fn the_filter_takes_differences_within_a_lane() {
        let mut out = Vec::new();
        difference(&[10, 20, 30, 11, 19, 30, 0], 3, &mut out);
        assert_eq!(out, [10, 20, 30, 1, 255, 0, 245]);
        out.clear();
        difference(&[1, 2], 3, &mut out);
        assert_eq!(out, [1, 2]);
        let mut back = Vec::with_capacity(4);
        DCtx::create().decompress(&mut back, &frame(&coding(Codec::Zstd, 3, 3, None), &[5, 5, 5, 6])).unwrap();
        assert_eq!(back, [5, 5, 5, 1]);
    }

    /// Bytes with repetitions near and far; `seed` is any number but 0.
    fn record(size: usize, mut seed: u64) -> Vec<u8> {
        let mut next = |below: usize| {
            // Marsaglia's xorshift64.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 11) as usize % below
        };
        let mut bytes: Vec<u8> = Vec::with_capacity(size + 40);
        while bytes.len() < size {
            if bytes.len() > 64 && next(3) == 0 {
                let reach = 1 << (6 + next(14));
                let start = bytes.len() - 1 - next(bytes.len().min(reach));
                (start..start + 4 + next(30)).for_each(|at| bytes.push(bytes[at]));
            } else {
                bytes.push(next(40) as u8);
            }
        }
        bytes.truncate(size);
        bytes
    }

    #[test]
    fn a_frame_does_not_depend_on_what_was_encoded_before() {
        let dictionary = record(20_000, 99);
        let sizes = [0, 7, 200, 2048, 20_000, 150_000, 150_000, 33, 600_000];
        for level in 1..=22 {
            // The slow levels with less: they have a table for each window, whatever a record is.
            let sizes = &sizes[..if level > 12 { 5 } else { sizes.len() }];
            let records: Vec<_> = sizes.iter().enumerate().map(|(i, size)| record(*size, i as u64 + 1)).collect();
            let codings = [
                coding(Codec::Zstd, level, 0, None),
                coding(Codec::Zstd, level, 3, None),
                coding(Codec::ZstdDict, level, 0, Some(&dictionary)),
                coding(Codec::ZstdDict, level, 1, Some(&dictionary)),
                coding(Codec::Zstd, 23 - level, 0, None),
            ];
            let mut used = Encoder::default();
            // Three rounds: there and back through the records with one coding, and all codings in turn.
            for (number, coding) in codings[..4].iter().enumerate() {
                let alone: Vec<_> = records.iter().map(|record| frame(coding, record)).collect();
                let mut same = |at: usize, round: &str| {
                    let found = used.encode(coding, &records[at]).unwrap();
                    assert!(found == alone[at], "level {level}, coding {number}, record {at}, {round}");
                };
                (0..records.len()).for_each(|at| same(at, "forwards"));
                (0..records.len()).rev().for_each(|at| same(at, "backwards"));
                for at in 0..records.len().min(6) {
                    for other in &codings {
                        used.encode(other, &records[records.len().min(5) - 1]).unwrap();
                    }
                    let found = used.encode(coding, &records[at]).unwrap();
                    assert!(found == alone[at], "level {level}, coding {number}, record {at}, mixed");
                }
            }
        }
    }
}
