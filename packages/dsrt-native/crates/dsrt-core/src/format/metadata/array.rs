//! Batches as Arrow arrays over the file itself, validated in full (R042).

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::BooleanBuffer;
use arrow_data::ArrayData;
use arrow_schema::SchemaRef;

use super::batch::{BatchLayout, ColumnLayout, width};
use super::breach;
use super::chunks::Chunks;
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
    let rows = usize::try_from(layout.rows).map_err(|_| breach(42, "a batch has more rows than there are numbers"))?;
    let mut arrays = Vec::with_capacity(columns.len());
    for (column, (name, kind)) in layout.columns.iter().zip(columns) {
        pause()?;
        let checked = || {
            if matches!(kind, ColumnType::String | ColumnType::Binary) {
                check_together(&chunks.bytes(column.values)?, rows, layout.body)?;
            }
            array(chunks, column, *kind, rows)
        };
        arrays.push(checked().map_err(|error| error.in_field(name))?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(|e| breach(42, e.to_string()))
}

fn array(chunks: &Chunks, layout: &ColumnLayout, kind: ColumnType, rows: usize) -> Result<ArrayRef> {
    let mut bitmap = None;
    if let Some(validity) = layout.validity {
        let bits = BooleanBuffer::new(chunks.buffer(validity)?, 0, rows);
        if (rows - bits.count_set_bits()) as u64 != layout.nulls {
            return Err(breach(42, "the count of nulls is not that of the zero bits"));
        }
        check_under_nulls(&chunks.bytes(layout.values)?, &bits, kind)?;
        bitmap = Some(bits.into_inner()).filter(|_| layout.nulls > 0);
    }
    let mut builder = ArrayData::builder(kind.arrow())
        .len(rows)
        .null_count(layout.nulls as usize)
        .null_bit_buffer(bitmap)
        .add_buffer(chunks.buffer(layout.values)?)
        .align_buffers(true);
    for data in &layout.data {
        builder = builder.add_buffer(chunks.buffer(*data)?);
    }
    Ok(make_array(builder.build().map_err(|e| breach(42, e.to_string()))?))
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
