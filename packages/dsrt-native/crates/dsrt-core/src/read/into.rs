//! A batch in memory that is there already: an array of the caller's for each column.

use std::sync::Arc;

use super::gather::{Damage, OnDamage, Pace, Rows, Settled, Source, Threads, VALID};
use crate::batch::Spans;
use crate::error::{Error, Kind, Result};

/// Gathers each of `columns`, as [`gather`](super::gather()) does, into the memory that stands for it in `outs`. All of them
/// are dense, and the memory has exactly their size, which [`Source::dense`] tells; an error of ours otherwise. After an
/// error, what the memory holds means nothing.
pub fn gather_into(
    columns: &[(Arc<str>, Arc<dyn Source>)],
    rows: &Rows,
    outs: &mut [&mut [u8]],
    on_damage: OnDamage,
    threads: Threads,
) -> Result<()> {
    let mut damage = Damage::new(on_damage);
    let mut plans = Vec::with_capacity(columns.len());
    let mut pace = Pace::new(rows.look);
    for (column, ((_, source), out)) in columns.iter().zip(outs.iter()).enumerate() {
        pace.wait(0)?;
        damage.begin(column);
        // Each column is alone in its memory.
        let mut spans = Spans::default();
        plans.push(source.plan(rows, &mut spans, &mut damage)?);
        if source.dense().is_none() || spans.total() != out.len() {
            return Err(misfit());
        }
    }
    if plans.len() != columns.len() || plans.len() != outs.len() {
        return Err(misfit());
    }
    let settled = Settled;
    for (column, (plan, out)) in plans.into_iter().zip(outs.iter_mut()).enumerate() {
        pace.wait(0)?;
        damage.begin(column);
        plan.fill(out, &mut damage, threads)?;
    }
    drop(settled);
    let valid = columns.iter().zip(outs).find(|((name, _), _)| **name == *VALID);
    if let Some((_, flags)) = valid {
        damage.mark(flags);
    }
    Ok(())
}

fn misfit() -> Error {
    Error::new(Kind::Internal, "the memory given for a batch does not fit its columns")
}
