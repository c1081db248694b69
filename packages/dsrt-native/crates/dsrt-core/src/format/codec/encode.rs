//! Records on their way into a shard: the delta filter, then the codec.

use zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation;
use zstd_safe::{CCtx, CDict, CParameter, DDict, ErrorCode, compress_bound, get_error_name, is_error_kind};

use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};

/// Encodes the records of one field, one after the other, with one reused context.
pub struct Encoder {
    zstd: Option<CCtx<'static>>,
    delta: usize,
    filtered: Vec<u8>,
    frame: Vec<u8>,
}

impl Encoder {
    /// An encoder for records of `field`. `level` counts where the codec is zstd; `dictionary` is the body of
    /// the field's dictionary, and must be usable where it claims to be a trained one.
    pub fn new(field: &Field, level: i32, dictionary: Option<&[u8]>) -> Result<Self> {
        let zstd = match field.codec {
            Codec::Raw => None,
            Codec::Zstd | Codec::ZstdDict => Some(context(level, dictionary)?),
        };
        Ok(Self { zstd, delta: usize::from(field.delta), filtered: Vec::new(), frame: Vec::new() })
    }

    /// The bytes to store for a record. `bytes` itself if the codec is raw.
    pub fn encode<'a>(&'a mut self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        let Some(zstd) = &mut self.zstd else {
            return Ok(bytes);
        };
        let source = if self.delta > 0 {
            reserve(&mut self.filtered, bytes.len())?;
            difference(bytes, self.delta, &mut self.filtered);
            &self.filtered
        } else {
            bytes
        };
        reserve(&mut self.frame, compress_bound(source.len()))?;
        zstd.compress2(&mut self.frame, source).map_err(|code| refused("compressing a record", code))?;
        Ok(&self.frame)
    }
}

fn context(level: i32, dictionary: Option<&[u8]>) -> Result<CCtx<'static>> {
    let mut context = CCtx::try_create().ok_or_else(|| Error::new(Kind::Memory, "zstd has no memory for a context"))?;
    // Frames say their size and nothing else that could be left out (R036 of the format).
    let parameters = [
        CParameter::CompressionLevel(level),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
    ];
    for parameter in parameters {
        context.set_parameter(parameter).map_err(|code| refused("setting up zstd", code))?;
    }
    if let Some(dictionary) = dictionary {
        // The context copies it, but looks into it only with the first record.
        if CDict::try_create(dictionary, level).is_none() || DDict::try_create(dictionary).is_none() {
            return Err(Error::new(
                Kind::Schema,
                "the dictionary begins like a trained one, and zstd cannot load it: it is damaged",
            ));
        }
        context.load_dictionary(dictionary).map_err(|code| refused("loading a dictionary", code))?;
    }
    Ok(context)
}

/// Any bytes can be compressed, so what remains is memory and mistakes of ours.
fn refused(doing: &str, code: ErrorCode) -> Error {
    let kind = if is_error_kind(code, ZSTD_error_memory_allocation) { Kind::Memory } else { Kind::Internal };
    Error::new(kind, format!("{doing}: zstd says {:?}", get_error_name(code)))
}

fn reserve(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    buffer.clear();
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

    fn encoder(codec: Codec, delta: u8, dictionary: Option<&[u8]>) -> Encoder {
        let field = Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta };
        Encoder::new(&field, 3, dictionary).unwrap()
    }

    #[test]
    fn raw_is_the_bytes_themselves() {
        assert_eq!(encoder(Codec::Raw, 0, None).encode(b"abc").unwrap(), b"abc");
    }

    #[test]
    fn every_record_is_one_frame_that_says_its_size_and_no_more() {
        let mut encoder = encoder(Codec::Zstd, 0, None);
        for size in [0, 1, 255, 256, 65791, 65792, 1 << 20] {
            let record: Vec<u8> = (0..size).map(|i| (i / 3) as u8).collect();
            let frame = encoder.encode(&record).unwrap();
            assert_eq!(find_frame_compressed_size(frame).unwrap(), frame.len());
            assert_eq!(get_frame_content_size(frame).unwrap(), Some(size as u64));
            assert_eq!(frame[4] & 0b1111, 0, "no checksum, no reserved bit, no dictionary id");
            let mut back = Vec::with_capacity(size);
            DCtx::create().decompress(&mut back, frame).unwrap();
            assert_eq!(back, record);
        }
    }

    #[test]
    fn a_run_of_one_byte_stays_within_the_bound_on_expansion() {
        let record = vec![0; 8 << 20];
        let frame = encoder(Codec::Zstd, 0, None).encode(&record).unwrap().len();
        assert!(record.len() <= 32768 * frame);
    }

    #[test]
    fn a_dictionary_helps_and_is_not_named_in_the_frame() {
        let dictionary = b"the quick brown fox jumps over the lazy dog, and again and again";
        let record = b"the lazy dog jumps over the quick brown fox";
        let plain = encoder(Codec::Zstd, 0, None).encode(record).unwrap().len();
        let mut encoder = encoder(Codec::ZstdDict, 0, Some(dictionary));
        for _ in 0..2 {
            let frame = encoder.encode(record).unwrap();
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
        let error = Encoder::new(&field, 3, Some(b"\x37\xA4\x30\xEC and nonsense")).err().unwrap();
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
        let mut encoder = encoder(Codec::Zstd, 3, None);
        let mut back = Vec::with_capacity(4);
        DCtx::create().decompress(&mut back, encoder.encode(&[5, 5, 5, 6]).unwrap()).unwrap();
        assert_eq!(back, [5, 5, 5, 1]);
    }
}
