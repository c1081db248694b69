//! Stored bytes to record bytes, into the place where they are wanted.

use std::cell::RefCell;

use zstd_safe::{DCtx, DDict, DParameter, InBuffer, OutBuffer, WriteBuf};

use super::delta;
use super::frame::check_blocks;
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};

/// Records beyond this are decoded step by step where somebody may want it to end.
const LARGE: usize = 16 << 20;

/// Stored bytes of a step. They decode to 256 MiB at most.
const STEP: usize = 8 << 10;

thread_local! {
    /// One context a thread, because making one costs more than decoding a small record.
    static CONTEXT: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// A dictionary, prepared for decoding.
///
/// It holds a copy of its bytes: they are at most 1 MiB, and so the bytes that were checked are the bytes that are
/// used, whatever becomes of the file.
pub struct Dictionary(DDict<'static>);

impl Dictionary {
    /// Prepares the body of a dictionary file (R040).
    pub fn load(body: &[u8]) -> Result<Self> {
        DDict::try_create(body).map(Self).ok_or_else(|| not_loaded(body))
    }
}

/// Why a dictionary does not load: libzstd does not say. Of one that was not trained any body does, if there is memory.
fn not_loaded(body: &[u8]) -> Error {
    const TRAINED: [u8; 4] = 0xec30_a437_u32.to_le_bytes();
    if body.starts_with(&TRAINED) {
        let message = "the dictionary does not load: it is a damaged trained one, or there is not enough memory for it";
        return Error::rule(Kind::Format, 40, message);
    }
    Error::new(Kind::Memory, "there is not enough memory for the dictionary")
}

/// Decodes a record of `field` into `out`, which has exactly its size (R037), and undoes the delta filter.
///
/// After an error, what `out` holds means nothing.
pub fn decode(field: &Field, dictionary: Option<&Dictionary>, stored: &[u8], out: &mut [u8]) -> Result<()> {
    if field.codec == Codec::Raw {
        if stored.len() != out.len() {
            return Err(Error::new(Kind::Internal, "a raw record has another size than was planned"));
        }
        out.copy_from_slice(stored);
        return Ok(());
    }
    let size = out.len();
    // libzstd would go on with a second frame.
    check_blocks(stored, size as u64)?;
    inflate(dictionary, stored, out, size)?;
    delta::undo(out, field.delta);
    Ok(())
}

/// Decodes a record of a field with a codec that compresses, as [`decode`] does, into memory of its own, which is asked
/// for once the blocks of the frame are known to hold so much, and not touched before bytes are decoded into it. `pause`
/// is called now and then while a large record is decoded; its error ends that.
pub fn decode_whole(
    field: &Field,
    dictionary: Option<&Dictionary>,
    stored: &[u8],
    size: u64,
    out: &mut Vec<u8>,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    check_blocks(stored, size)?;
    let memory = || Error::new(Kind::Memory, format!("a record of {size} bytes does not fit the memory"));
    let size = usize::try_from(size).map_err(|_| memory())?;
    out.clear();
    out.try_reserve_exact(size).map_err(|_| memory())?;
    if size <= LARGE || !inflate_by_steps(dictionary, stored, out, size, pause)? {
        inflate(dictionary, stored, out, size)?;
    }
    delta::undo(out, field.delta);
    Ok(())
}

fn inflate<B: WriteBuf + ?Sized>(
    dictionary: Option<&Dictionary>,
    stored: &[u8],
    out: &mut B,
    size: usize,
) -> Result<()> {
    let decoded = CONTEXT.with(|context| {
        let mut context = context.try_borrow_mut().map_err(|_| Error::new(Kind::Internal, "zstd calls itself"))?;
        if context.is_none() {
            *context = DCtx::try_create();
        }
        let context = context.as_mut().ok_or_else(|| Error::new(Kind::Memory, "no memory for a zstd context"))?;
        let result = match dictionary {
            Some(dictionary) => context.decompress_using_ddict(out, stored, &dictionary.0),
            None => context.decompress(out, stored),
        };
        result.map_err(|code| breach(zstd_safe::get_error_name(code)))
    })?;
    if decoded == size {
        return Ok(());
    }
    Err(breach(format!("the zstd frame decodes to {decoded} bytes, its header says {size}")))
}

/// Decodes a frame in steps. False where that does not succeed, which says nothing of the frame: of some frames libzstd
/// thinks otherwise when it has the whole of them, and that is what readers give it.
fn inflate_by_steps(
    dictionary: Option<&Dictionary>,
    stored: &[u8],
    out: &mut Vec<u8>,
    size: usize,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<bool> {
    let Some(mut context) = DCtx::try_create() else { return Ok(false) };
    // Straight into `out`, so that no window is kept beside it.
    for parameter in [DParameter::WindowLogMax(31), DParameter::StableOutBuffer(true)] {
        if context.set_parameter(parameter).is_err() {
            return Ok(false);
        }
    }
    if dictionary.is_some_and(|dictionary| context.ref_ddict(&dictionary.0).is_err()) {
        return Ok(false);
    }
    let mut is_whole = false;
    let mut to = OutBuffer::around(out);
    for step in stored.chunks(STEP) {
        pause()?;
        let mut from = InBuffer::around(step);
        while from.pos < step.len() {
            match context.decompress_stream(&mut to, &mut from) {
                Ok(left) => is_whole = left == 0,
                Err(_) => return Ok(false),
            }
        }
    }
    Ok(is_whole && to.pos() == size)
}

fn breach(what: impl AsRef<str>) -> Error {
    Error::rule(Kind::Format, 37, format!("the stored record does not decode: {}", what.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::FieldKind;
    use crate::format::codec::check_frame;
    use proptest::prelude::*;

    fn field(codec: Codec, delta: u8) -> Field {
        Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta }
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![0; zstd_safe::compress_bound(bytes.len())];
        let length = zstd_safe::compress(&mut out[..], bytes, 3).unwrap();
        out.truncate(length);
        out
    }

    fn decoded(stored: &[u8], size: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; size];
        decode(&field(Codec::Zstd, 0), None, stored, &mut out).map(|()| out)
    }

    #[test]
    fn a_dictionary_that_was_not_trained_does_not_load_for_lack_of_memory_only() {
        let trained = Dictionary::load(b"\x37\xa4\x30\xec\x07\x00\x00\x00 damaged").err().unwrap();
        assert_eq!((trained.kind(), trained.rule_number()), (Kind::Format, Some(40)));
        for body in [&b"any bytes"[..], b"\x37\xa4\x30", b""] {
            assert!(Dictionary::load(body).is_ok());
            assert_eq!((not_loaded(body).kind(), not_loaded(body).rule_number()), (Kind::Memory, None));
        }
    }

    #[test]
    fn one_whole_frame_decodes_and_nothing_else() {
        let text = b"a record of a few bytes, a record of a few bytes, a record of a few bytes";
        let frame = compressed(text);
        assert_eq!(decoded(&frame, text.len()).unwrap(), text);
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        for bad in [
            [&frame[..], &[0]].concat(),
            [&frame[..], &compressed(b"")].concat(),
            [&frame[..], &skippable].concat(),
            frame[..frame.len() - 1].to_vec(),
        ] {
            assert_eq!(decoded(&bad, text.len()).unwrap_err().rule_number(), Some(37));
        }
        for size in [0, text.len() - 1, text.len() + 1] {
            assert_eq!(decoded(&frame, size).unwrap_err().rule_number(), Some(37));
        }
    }

    #[test]
    fn an_empty_record_is_a_frame_like_any_other() {
        let frame = compressed(b"");
        check_frame(&frame, 0).unwrap();
        assert_eq!(decoded(&frame, 0).unwrap(), b"");
        assert_eq!(decoded(b"", 0).unwrap_err().rule_number(), Some(37));
    }

    #[test]
    fn a_dictionary_is_needed_where_it_was_used() {
        let words: Vec<u8> =
            (0..4096u32).map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        let mut context = zstd_safe::CCtx::create();
        let mut frame = vec![0; 400];
        let prepared = zstd_safe::CDict::create(&words, 3);
        let length = context.compress_using_cdict(&mut frame[..], &words[1000..1256], &prepared).unwrap();
        frame.truncate(length);
        assert!(length < 32, "{length}");
        let dictionary = Dictionary::load(&words).unwrap();
        let mut out = vec![0; 256];
        decode(&field(Codec::ZstdDict, 0), Some(&dictionary), &frame, &mut out).unwrap();
        assert_eq!(out, words[1000..1256]);
        // The context keeps nothing of the dictionary.
        assert!(decoded(&frame, 256).is_err());
        assert_eq!(Dictionary::load(b"\x37\xA4\x30\xEC1234").err().unwrap().rule_number(), Some(40));
    }

    fn decoded_whole(stored: &[u8], size: u64, pause: &mut dyn FnMut() -> Result<()>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        decode_whole(&field(Codec::Zstd, 0), None, stored, size, &mut out, pause).map(|()| out)
    }

    #[test]
    fn a_large_record_is_decoded_in_steps_that_can_be_ended() {
        let bytes: Vec<u8> = (0..LARGE as u32 + 12_345).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let frame = compressed(&bytes);
        let mut steps = 0;
        let found = decoded_whole(&frame, bytes.len() as u64, &mut || {
            steps += 1;
            Ok(())
        });
        assert!(found.unwrap() == bytes);
        assert_eq!(steps, frame.len().div_ceil(STEP));
        let mut left = 3;
        let ended = decoded_whole(&frame, bytes.len() as u64, &mut || {
            left -= 1;
            if left > 0 { Ok(()) } else { Err(Error::new(Kind::State, "enough")) }
        });
        assert_eq!(ended.unwrap_err().kind(), Kind::State);
    }

    #[test]
    fn a_large_record_that_is_damaged_is_judged_as_a_small_one() {
        let bytes: Vec<u8> = (0..LARGE as u32 + 1).map(|i| ((i / 7) ^ (i >> 13)) as u8).collect();
        let frame = compressed(&bytes);
        for at in [20, frame.len() / 2, frame.len() - 1] {
            let mut damaged = frame.clone();
            damaged[at] ^= 0x55;
            let whole = decoded_whole(&damaged, bytes.len() as u64, &mut || Ok(())).map_err(|e| e.rule_number());
            let alone = decoded(&damaged, bytes.len()).map_err(|e| e.rule_number());
            assert!(whole == alone, "byte {at}");
        }
        // Blocks larger than blocks may be: streaming refuses them.
        let size = LARGE as u32 + (2 << 20);
        let block = |last: u32, length: u32| (length << 3 | 1 << 1 | last).to_le_bytes();
        let mut frame = [&[0x28, 0xB5, 0x2F, 0xFD, 0xA0][..], &size.to_le_bytes()].concat();
        for left in (0..size).step_by(152 << 10).map(|done| size - done) {
            let length = left.min(152 << 10);
            frame.extend_from_slice(&block(u32::from(left == length), length)[..3]);
            frame.push(7);
        }
        let whole = decoded_whole(&frame, size.into(), &mut || Ok(())).map_err(|e| e.rule_number());
        assert!(whole == decoded(&frame, size as usize).map_err(|e| e.rule_number()));
    }

    #[test]
    fn no_memory_is_asked_for_by_the_word_of_a_header() {
        // A frame that says 2^40 bytes, behind which there is room for as many by the bound on expansion, and no block.
        let size = 1u64 << 40;
        let mut frame = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &size.to_le_bytes()].concat();
        frame.resize((size / 32768) as usize, 0);
        check_frame(&frame, size).unwrap();
        assert_eq!(decoded_whole(&frame, size, &mut || Ok(())).unwrap_err().rule_number(), Some(37));
    }

    proptest! {
        #[test]
        fn nothing_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in any::<u16>(), bit in 0u8..8) {
            let mut frame = compressed(&bytes);
            let at = usize::from(at) % frame.len();
            frame[at] ^= 1u8 << bit;
            if let Ok(out) = decoded(&frame, bytes.len()) {
                prop_assert_eq!(out.len(), bytes.len());
            }
        }
    }
}
