//! What tests of reading share: the published example, a copy of it to break, and batches as plain values.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dsrt_core::Result;
use dsrt_core::batch::{Batch, Heap, Layout};
use dsrt_core::dtype::DType;
use dsrt_core::field::FieldKind;
use dsrt_core::read::{Cache, Id, OnDamage, PayloadSource, Rows, Source, Threads, gather};

/// The example cache of that name, as the specification publishes it.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../dsrt-format/src/dsrt_format/vectors/example").join(name)
}

/// A copy of a cache that may be changed.
pub fn copy(from: &Path) -> tempfile::TempDir {
    let target = tempfile::tempdir().unwrap();
    copy_into(from, target.path());
    target
}

fn copy_into(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_into(&entry.path(), &target);
        } else {
            std::fs::write(&target, std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Changes the bytes of a file.
pub fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    edit(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// One payload field of those samples of one cache.
pub fn gather_field(cache: &Cache, field: &str, samples: &[u64], on: OnDamage) -> Result<Batch> {
    let source = PayloadSource::new([cache.clone()].into(), field)?;
    gather_source(field, Arc::new(source), samples, on)
}

/// The same field, delivered as a wider type, if it has numbers that one of 64 bits holds.
pub fn gather_wide(cache: &Cache, field: &str, samples: &[u64], on: OnDamage) -> Option<Result<Batch>> {
    let number = cache.manifest().fields.iter().position(|entry| *entry.field.name == *field)?;
    let field = &cache.manifest().fields[number].field;
    let wide = match field.kind {
        FieldKind::Dense(_) | FieldKind::Ragged(_) => wide(field.dtype)?,
        _ => return None,
    };
    let source = PayloadSource::new([cache.clone()].into(), &field.name).and_then(|source| source.delivered_as(wide));
    Some(source.and_then(|source| gather_source(&field.name, Arc::new(source), samples, on)))
}

/// The type of 64 bits that holds all of another type.
fn wide(dtype: DType) -> Option<DType> {
    match dtype {
        DType::Float32 => Some(DType::Float64),
        DType::Bool | DType::UInt8 | DType::UInt16 | DType::UInt32 => Some(DType::UInt64),
        DType::Int8 | DType::Int16 | DType::Int32 => Some(DType::Int64),
        _ => None,
    }
}

/// Elements as they are in that type.
pub fn widened(dtype: DType, elements: &[u8]) -> Vec<u8> {
    let wide = |element: &[u8]| -> [u8; 8] {
        let unsigned = element.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        let unused = 64 - 8 * element.len();
        match wide(dtype).unwrap() {
            DType::Float64 => f64::from(f32::from_bits(unsigned as u32)).to_le_bytes(),
            DType::Int64 => ((unsigned << unused) as i64 >> unused).to_le_bytes(),
            _ => unsigned.to_le_bytes(),
        }
    };
    elements.chunks_exact(dtype.size()).flat_map(wide).collect()
}

/// One column of those samples.
pub fn gather_source(name: &str, source: Arc<dyn Source>, samples: &[u64], on: OnDamage) -> Result<Batch> {
    let ids: Vec<_> = samples.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let valid = vec![true; samples.len()];
    let rows = Rows { ids: &ids, rows: samples, positions: samples, valid: &valid, seed: 0, look: &|| Ok(()) };
    let columns: [(Arc<str>, Arc<dyn Source>); 1] = [(name.into(), source)];
    gather(&columns, &rows, &Heap, on, Threads::Given(2))
}

/// The records of the batch's one column, as bytes.
pub fn records(batch: &Batch) -> Vec<Vec<u8>> {
    let buffer = batch.buffer.bytes();
    match &batch.columns[0].layout {
        Layout::Dense { element, shape, values } => {
            let bytes = values.of(buffer).unwrap();
            let stride = shape[1..].iter().product::<u64>() as usize * element.size();
            assert_eq!((shape[0] as usize, bytes.len()), (batch.len, stride * batch.len));
            (0..batch.len).map(|i| bytes[i * stride..][..stride].to_vec()).collect()
        }
        Layout::Ragged { dtype, values, offsets, .. } => split(buffer, *values, *offsets, dtype.size()),
        Layout::Strings { values, offsets, .. } => split(buffer, *values, *offsets, 1),
    }
}

fn split(buffer: &[u8], values: dsrt_core::batch::Span, offsets: dsrt_core::batch::Span, size: usize) -> Vec<Vec<u8>> {
    let values = values.of(buffer).unwrap();
    let offsets = integers(offsets.of(buffer).unwrap());
    assert_eq!((offsets[0], *offsets.last().unwrap() as usize * size), (0, values.len()));
    offsets.windows(2).map(|pair| values[pair[0] as usize * size..pair[1] as usize * size].to_vec()).collect()
}

/// int64 values.
pub fn integers(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks::<8>().0.iter().map(|chunk| i64::from_ne_bytes(*chunk)).collect()
}
