//! Batches as Arrow arrays over the file itself, validated in full (R042).

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ArrayData;
use arrow_schema::SchemaRef;

use super::batch::{BatchLayout, ColumnLayout, width};
use super::chunks::{Chunks, memory};
use super::text::check_text;
use super::view::INLINE;
use super::{Extent, breach};
use crate::dtype::{ColumnType, DType};
use crate::error::Result;

/// The batch as Arrow knows it. Numbers and the content of strings are the file's where they are aligned as Arrow wants
/// them, and copies elsewhere; views and bits, which Arrow follows and counts without another look, are copies that
/// were validated. `pause` is called before each column; its error ends it.
pub fn record_batch(
    chunks: &Chunks,
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    schema: &SchemaRef,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<RecordBatch> {
    let body = Body::of(chunks, layout)?;
    let mut arrays = Vec::with_capacity(columns.len());
    each_column(layout, columns, pause, &mut |column, kind| {
        arrays.push(make_array(body.values(column, kind)?));
        Ok(())
    })?;
    let options = RecordBatchOptions::new().with_row_count(Some(body.rows));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|e| breach(42, e.to_string()))
}

/// Finds in a batch what [`record_batch`] finds, and keeps no column: those of a small file can take far more memory than
/// it. Of strings that overlap each byte is looked at once.
pub fn check_columns(
    chunks: &Chunks,
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let body = Body::of(chunks, layout)?;
    each_column(layout, columns, pause, &mut |column, kind| match kind {
        ColumnType::String => match body.values(column, ColumnType::Binary)?.buffers() {
            [views, data @ ..] => check_text(views.get(..body.rows * 16).unwrap_or_default(), data),
            [] => Ok(()),
        },
        _ => body.values(column, kind).map(drop),
    })
}

/// Does something with each column, of which the errors name it.
fn each_column(
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    pause: &mut dyn FnMut() -> Result<()>,
    each: &mut dyn FnMut(&ColumnLayout, ColumnType) -> Result<()>,
) -> Result<()> {
    for (column, (name, kind)) in layout.columns.iter().zip(columns) {
        pause()?;
        each(column, *kind).map_err(|error| error.in_field(name))?;
    }
    Ok(())
}

/// All buffers of a batch, proven, as one of Arrow's: its millions of buffers are slices of it.
struct Body {
    bytes: Buffer,
    extent: Extent,
    rows: usize,
}

impl Body {
    fn of(chunks: &Chunks, layout: &BatchLayout) -> Result<Self> {
        let rows = usize::try_from(layout.rows);
        let rows = rows.map_err(|_| breach(42, "a batch has more rows than there are numbers"))?;
        Ok(Self { bytes: chunks.buffer(layout.body)?, extent: layout.body, rows })
    }

    /// A buffer of the batch.
    fn buffer(&self, buffer: Extent) -> Result<Buffer> {
        let outside = || breach(42, "a buffer lies outside the body of its batch");
        let at = buffer.at.checked_sub(self.extent.at).ok_or_else(outside)?;
        at.checked_add(buffer.len).filter(|end| *end <= self.bytes.len() as u64).ok_or_else(outside)?;
        Ok(self.bytes.slice_with_length(at as usize, buffer.len as usize))
    }

    /// The values of a column as Arrow knows them, validated in full. Strings are not longer together than is allowed.
    fn values(&self, layout: &ColumnLayout, kind: ColumnType) -> Result<ArrayData> {
        let rows = self.rows;
        let values = self.stored(layout.values, kind)?;
        if matches!(kind, ColumnType::String | ColumnType::Binary) {
            check_views(&values, self.extent.len)?;
        }
        let mut bitmap = None;
        if let Some(validity) = layout.validity {
            let bits = Extent { len: validity.len.min(rows.div_ceil(8) as u64), ..validity };
            let bits = BooleanBuffer::new(copy(&self.buffer(bits)?)?, 0, rows);
            if (rows - bits.count_set_bits()) as u64 != layout.nulls {
                return Err(breach(42, "the count of nulls is not that of the zero bits"));
            }
            check_under_nulls(&values, &bits, kind)?;
            bitmap = Some(bits.into_inner()).filter(|_| layout.nulls > 0);
        }
        let mut buffers = memory(1 + layout.data.len())?;
        buffers.push(values);
        for data in &layout.data {
            buffers.push(self.buffer(*data)?);
        }
        let data = ArrayData::builder(kind.arrow())
            .len(rows)
            .null_count(layout.nulls as usize)
            .null_bit_buffer(bitmap)
            .buffers(buffers)
            .build();
        data.map_err(|e| breach(42, e.to_string()))
    }

    /// The values of the rows, at a place where Arrow takes them: the file has multiples of 8. Views and bits are copied
    /// from wherever they lie, so that what was checked is what is used even if somebody writes to the file. Copied is
    /// no more than the rows need: a column costs 16 bytes a row, whatever its file.
    fn stored(&self, values: Extent, kind: ColumnType) -> Result<Buffer> {
        let is_bits = kind == ColumnType::Number(DType::Bool);
        let needed = if is_bits { self.rows.div_ceil(8) as u64 } else { self.rows as u64 * width(kind) };
        let buffer = self.buffer(Extent { len: needed.min(values.len), ..values })?;
        let is_followed = is_bits || matches!(kind, ColumnType::String | ColumnType::Binary);
        if !is_followed && buffer.as_ptr().align_offset(width(kind) as usize) == 0 {
            return Ok(buffer);
        }
        copy(&buffer)
    }
}

/// The same bytes at a place that is aligned for all types.
fn copy(buffer: &Buffer) -> Result<Buffer> {
    let mut copy = memory::<u128>(buffer.len().div_ceil(16))?;
    let (whole, rest) = buffer.as_chunks::<16>();
    copy.extend(whole.iter().map(|bytes| u128::from_ne_bytes(*bytes)));
    if !rest.is_empty() {
        let mut last = [0; 16];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        copy.push(u128::from_ne_bytes(last));
    }
    Ok(Buffer::from_vec(copy).slice_with_length(0, buffer.len()))
}

/// Bytes that the strings of a column may have in a batch, however short the file is: what a column of plain Arrow
/// strings could hold.
const MOST_TOGETHER: u64 = 1 << 31;

/// Checks of views what Arrow does not.
///
/// Their numbers are signed, and other libraries take them so, but this one takes them as unsigned. And views may
/// overlap, so that a small file could stand for strings of any length together. What exceeds the body, in which strings
/// that do not overlap have their place, is bounded.
fn check_views(views: &[u8], body: u64) -> Result<()> {
    let mut together = 0;
    for (row, [l0, l1, l2, l3, _, _, _, _, rest @ ..]) in views.as_chunks::<16>().0.iter().enumerate() {
        let length = u32::from_le_bytes([*l0, *l1, *l2, *l3]);
        let [b0, b1, b2, b3, o0, o1, o2, o3] = *rest;
        let place = [[b0, b1, b2, b3], [o0, o1, o2, o3]].map(u32::from_le_bytes);
        let is_negative = |number: u32| number > i32::MAX as u32;
        if is_negative(length) || length > INLINE && place.into_iter().any(is_negative) {
            let message = format!("the string in row {row} of a batch has a negative length, buffer number or offset");
            return Err(breach(42, message));
        }
        together += u64::from(length);
    }
    let most = body.max(MOST_TOGETHER);
    if together <= most {
        return Ok(());
    }
    Err(breach(
        42,
        format!("the strings of a batch have {together} bytes together; {most} are allowed where they overlap"),
    ))
}

/// What lies under a null is zero: libraries differ in whether they look.
fn check_under_nulls(values: &[u8], valid: &BooleanBuffer, kind: ColumnType) -> Result<()> {
    let nulls = !valid;
    let is_zero = |row: usize| {
        let value = match kind {
            ColumnType::Number(DType::Bool) => {
                return values.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 0);
            }
            _ => width(kind) as usize,
        };
        values.get(row * value..).and_then(|rest| rest.get(..value)).is_some_and(|bytes| bytes.iter().all(|b| *b == 0))
    };
    match nulls.set_indices().find(|row| !is_zero(*row)) {
        Some(row) => Err(breach(42, format!("what lies under the null in row {row} of a batch is not zero"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::checksum::digest;

    fn views(views: &[[u32; 4]]) -> Vec<u8> {
        views.concat().into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn strings_have_two_gib_together_or_what_the_body_has() {
        let rule = |lengths: [u32; 3], body| {
            let views = views(&lengths.map(|length| [length, 0, 0, 0]));
            check_views(&views, body).err().and_then(|error| error.rule_number())
        };
        assert_eq!(rule([1 << 30, 1 << 30, 0], 64), None);
        assert_eq!(rule([1 << 30, 1 << 30, 1], 64), Some(42));
        assert_eq!(rule([1 << 30, 1 << 30, 1], (1 << 31) + 1), None);
        assert_eq!(rule([i32::MAX as u32; 3], 64), Some(42));
    }

    #[test]
    fn no_number_of_a_view_is_negative_however_large_its_buffer() {
        const NEGATIVE: u32 = 1 << 31;
        let rule = |view| check_views(&views(&[[0; 4], view]), u64::MAX).err().and_then(|error| error.rule_number());
        for good in [[13, NEGATIVE, 0, 0], [12, NEGATIVE, NEGATIVE, NEGATIVE], [13, 0, NEGATIVE - 1, NEGATIVE - 1]] {
            assert_eq!(rule(good), None, "{good:?}");
        }
        for bad in [[NEGATIVE, 0, 0, 0], [13, 0, NEGATIVE, 0], [13, 0, 0, NEGATIVE], [u32::MAX; 4]] {
            assert_eq!(rule(bad), Some(42), "{bad:?}");
        }
    }

    /// Three rows at the beginning of a file that lies at a multiple of 16, and one column of them.
    fn column(kind: ColumnType, values: &[u8], nulls: u64, data: &[u8]) -> (Chunks, ArrayData, Buffer) {
        let len = |bytes: &[u8]| bytes.len() as u64;
        let (at_data, at_bits) = (len(values), len(values) + len(data));
        let content = [values, data, &[0b101; 16]].concat();
        let mut room = memory::<u128>(content.len() / 16).unwrap();
        room.extend(content.as_chunks::<16>().0.iter().map(|bytes| u128::from_ne_bytes(*bytes)));
        let file = Buffer::from_vec(room);
        let chunks = Chunks::new(bytes::Bytes::from_owner(file.clone()), &[digest(&content)]);
        let body = Extent { at: 0, len: len(&content) };
        let column = ColumnLayout {
            nulls,
            validity: (nulls > 0).then_some(Extent { at: at_bits, len: 8 }),
            values: Extent { at: 0, len: len(values) },
            data: [Extent { at: at_data, len: len(data) }].into_iter().filter(|data| data.len > 0).collect(),
        };
        let layout = BatchLayout { rows: 3, columns: Vec::new(), body };
        let found = Body::of(&chunks, &layout).unwrap().values(&column, kind).unwrap();
        (chunks, found, file)
    }

    #[test]
    fn what_arrow_follows_or_counts_is_not_the_files_and_all_else_is() {
        let text = [views(&[[13, u32::from_le_bytes(*b"abcd"), 0, 1], [0; 4], [1, 0x61, 0, 0]]), Vec::new()].concat();
        let is_in = |file: &Buffer, buffer: &Buffer| file.as_ptr_range().contains(&buffer.as_ptr());
        for kind in [ColumnType::String, ColumnType::Binary] {
            let (_, found, file) = column(kind, &text, 1, b"_abcdefghijklm__");
            let [views, data] = found.buffers() else { panic!("{kind:?}") };
            assert!(!is_in(&file, views) && is_in(&file, data));
            assert!(!is_in(&file, found.nulls().unwrap().buffer()));
        }
        let (_, found, file) = column(ColumnType::Number(DType::Bool), &[0b101; 16], 1, &[]);
        assert!(!is_in(&file, &found.buffers()[0]) && !is_in(&file, found.nulls().unwrap().buffer()));
        let (_, found, file) = column(ColumnType::Number(DType::Int64), &[7; 32], 0, &[]);
        assert!(is_in(&file, &found.buffers()[0]));
    }

    #[test]
    fn buffers_share_one_owner() {
        let text = views(&[[0; 4]; 3]);
        let (_, found, file) = column(ColumnType::String, &text, 0, &[7; 32]);
        assert_eq!(found.buffers()[1].data_ptr(), file.data_ptr());
    }
}
