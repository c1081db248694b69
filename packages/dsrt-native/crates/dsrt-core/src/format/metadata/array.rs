//! Batches as Arrow arrays over the file itself, validated in full (R042).

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ArrayData;
use arrow_schema::SchemaRef;

use super::batch::{BatchLayout, ColumnLayout, width};
use super::chunks::{Chunks, memory, too_large};
use super::text::check_text;
use super::{Extent, breach};
use crate::dtype::{ColumnType, DType};
use crate::error::Result;

/// The batch as Arrow knows it. Buffers are the file's where they are aligned as Arrow wants them, copies elsewhere.
/// `pause` is called before each column; its error ends it.
pub fn record_batch(
    chunks: &Chunks,
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    schema: &SchemaRef,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<RecordBatch> {
    let rows = rows(layout)?;
    let mut arrays = Vec::with_capacity(columns.len());
    each_column(chunks, layout, columns, pause, &mut |column, kind| {
        arrays.push(make_array(values(chunks, column, kind, rows)?));
        Ok(())
    })?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
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
    let rows = rows(layout)?;
    each_column(chunks, layout, columns, pause, &mut |column, kind| match kind {
        ColumnType::String => match values(chunks, column, ColumnType::Binary, rows)?.buffers() {
            [views, data @ ..] => check_text(views.get(..rows * 16).unwrap_or_default(), data),
            [] => Ok(()),
        },
        _ => values(chunks, column, kind, rows).map(drop),
    })
}

fn rows(layout: &BatchLayout) -> Result<usize> {
    usize::try_from(layout.rows).map_err(|_| breach(42, "a batch has more rows than there are numbers"))
}

/// Does something with each column, of which the errors name it. Strings are not longer together than is allowed.
fn each_column(
    chunks: &Chunks,
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    pause: &mut dyn FnMut() -> Result<()>,
    each: &mut dyn FnMut(&ColumnLayout, ColumnType) -> Result<()>,
) -> Result<()> {
    let rows = rows(layout)?;
    for (column, (name, kind)) in layout.columns.iter().zip(columns) {
        pause()?;
        let mut checked = || {
            if matches!(kind, ColumnType::String | ColumnType::Binary) {
                check_together(&chunks.bytes(column.values)?, rows, layout.body)?;
            }
            each(column, *kind)
        };
        checked().map_err(|error| error.in_field(name))?;
    }
    Ok(())
}

/// The values of a column as Arrow knows them, validated in full.
fn values(chunks: &Chunks, layout: &ColumnLayout, kind: ColumnType, rows: usize) -> Result<ArrayData> {
    let mut bitmap = None;
    if let Some(validity) = layout.validity {
        let bits = BooleanBuffer::new(chunks.buffer(validity)?, 0, rows);
        if (rows - bits.count_set_bits()) as u64 != layout.nulls {
            return Err(breach(42, "the count of nulls is not that of the zero bits"));
        }
        check_under_nulls(&chunks.bytes(layout.values)?, &bits, kind)?;
        bitmap = Some(bits.into_inner()).filter(|_| layout.nulls > 0);
    }
    let mut buffers = Vec::new();
    buffers.try_reserve_exact(1 + layout.data.len()).map_err(|_| too_large(layout.values.len))?;
    buffers.push(aligned(chunks, layout.values, kind, rows)?);
    for data in &layout.data {
        buffers.push(chunks.buffer(*data)?);
    }
    let data = ArrayData::builder(kind.arrow())
        .len(rows)
        .null_count(layout.nulls as usize)
        .null_bit_buffer(bitmap)
        .buffers(buffers)
        .build();
    data.map_err(|e| breach(42, e.to_string()))
}

/// The values of `rows` rows, at a place where Arrow takes them. The file has multiples of 8, which is not enough for views.
/// Copied is no more than the rows need: a column costs 16 bytes a row, whatever its file.
fn aligned(chunks: &Chunks, values: Extent, kind: ColumnType, rows: usize) -> Result<Buffer> {
    let needed = match kind {
        ColumnType::Number(DType::Bool) => rows.div_ceil(8) as u64,
        _ => rows as u64 * width(kind),
    };
    let buffer = chunks.buffer(Extent { len: needed.min(values.len), ..values })?;
    if buffer.as_ptr().align_offset(width(kind) as usize) == 0 {
        return Ok(buffer);
    }
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

/// Views may overlap, so that a small file could stand for strings of any length together. What exceeds the body, in which
/// strings that do not overlap have their place, is bounded.
fn check_together(views: &[u8], rows: usize, body: u64) -> Result<()> {
    let lengths = views.as_chunks::<16>().0.iter().take(rows).map(|[a, b, c, d, ..]| [*a, *b, *c, *d]);
    let together: u64 = lengths.map(|length| u64::from(u32::from_le_bytes(length))).sum();
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

    #[test]
    fn strings_have_two_gib_together_or_what_the_body_has() {
        let rule = |lengths: [u32; 2], rows, body| {
            let views: Vec<u8> =
                lengths.iter().flat_map(|length| [length.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat()).collect();
            check_together(&views, rows, body).err().and_then(|error| error.rule_number())
        };
        assert_eq!(rule([1 << 30, 1 << 30], 2, 64), None);
        assert_eq!(rule([1 << 30, (1 << 30) + 1], 2, 64), Some(42));
        assert_eq!(rule([1 << 30, (1 << 30) + 1], 2, (1 << 31) + 1), None);
        // What lies behind the last row is not looked at.
        assert_eq!(rule([1 << 31, 1], 1, 64), None);
        assert_eq!(rule([u32::MAX, u32::MAX], 2, 64), Some(42));
    }
}
