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
pub fn record_batch(
    chunks: &Chunks,
    layout: &BatchLayout,
    columns: &[(Arc<str>, ColumnType)],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let rows = usize::try_from(layout.rows).map_err(|_| breach(42, "a batch has more rows than there are numbers"))?;
    let array = |(layout, (name, kind)): (&ColumnLayout, &(Arc<str>, ColumnType))| {
        array(chunks, layout, *kind, rows).map_err(|e| e.in_field(name))
    };
    let arrays = layout.columns.iter().zip(columns).map(array).collect::<Result<Vec<_>>>()?;
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
