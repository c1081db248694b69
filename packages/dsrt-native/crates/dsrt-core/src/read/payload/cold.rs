//! What is on the disk alone is asked for before it is read, a whole batch at once: the disk then has all of it in its queue,
//! and reads no more than that. The kernel on its own would wait for one page after another and read what lies around each.

use std::ops::Range;

use super::super::content::Look;
use super::super::field::FieldReader;
use super::super::gather::{self, Id, Pace, Rows};
use super::super::shard::Shard;
use super::super::warmth::Ahead;
use super::Readers;
use super::finder::{Finder, Place};

/// Samples that are asked for together, in the order of their files.
const TOGETHER: usize = 4 << 10;

/// The most that is asked for at once: of more, the beginning could be gone before it is read.
const MOST: u64 = 1 << 30;

/// Has the kernel read what a batch needs, if it looks as if it had to. Tells no errors: reading finds them.
pub(super) fn ask(readers: &Readers, rows: &Rows) {
    // What is known is kept with the first cache.
    if let Some(reader) = readers.all.first() {
        let _ = ask_some(readers, reader, rows);
    }
}

fn ask_some(readers: &Readers, first: &FieldReader, rows: &Rows) -> Option<()> {
    let Rows { ids, look, .. } = *rows;
    let warmth = first.warmth().ok()?;
    let mut finder = Finder::new(readers);
    let bytes = finder.place(*ids.first()?)?.shard.bytes_a_record();
    let was_cold = warmth.is_cold();
    let run = if was_cold { in_order(ids) } else { None };
    if run.is_none() {
        let looks = warmth.looks(ids.len(), bytes);
        let seen = (0..looks).filter_map(|look| ids.get(ids.len() - 1 - look * ids.len() / looks));
        let mut looking = Looking::default();
        for place in seen.filter_map(|id| finder.place(*id)) {
            warmth.note(looking.is_there(&place), 1);
        }
        if !warmth.is_cold() {
            return None;
        }
    }
    let Some(run) = run.or_else(|| in_order(ids)) else {
        return ask_each(&mut finder, ids.iter().copied(), look);
    };
    let cache = ids.first()?.cache;
    let reader = readers.of(*ids.first()?).ok()?;
    let is_mapped = finder.place(*ids.first()?)?.shard.content().is_mapped();
    let Ahead::Ask(ahead) = reader.warmth().ok()?.ahead(run.clone(), bytes, is_mapped) else {
        return leave(&mut finder, cache, run);
    };
    let ahead = ahead.start..ahead.end.min(reader.cache().len());
    if was_cold && let Some(sample) = ahead.clone().last() {
        // What was asked for earlier says nothing; so this is all that a read in order is looked at.
        let counts = ahead.end - ahead.start;
        warmth
            .note(Looking::default().is_there(&finder.place(Id { cache, sample })?), counts.min(LOOKS_OF_A_RUN) as u32);
    }
    ask_each(&mut finder, ahead.map(|sample| Id { cache, sample }), look)
}

/// Leaves samples in order to the kernel.
fn leave(finder: &mut Finder, cache: u32, run: Range<u64>) -> Option<()> {
    let mut sample = run.start;
    while sample < run.end {
        let place = finder.place(Id { cache, sample })?;
        place.shard.content().expect_all();
        sample = place.end;
    }
    Some(())
}

/// What one look at a read in order counts for, at most.
const LOOKS_OF_A_RUN: u64 = 64;

/// The samples, if each is the neighbour of the one before.
fn in_order(ids: &[Id]) -> Option<Range<u64>> {
    let first = ids.first()?;
    let follows = |(id, sample): (&Id, u64)| id.cache == first.cache && id.sample == sample;
    let end = first.sample.checked_add(ids.len() as u64)?;
    ids.iter().zip(first.sample..end).all(follows).then_some(first.sample..end)
}

/// A look at the shard that was looked at last, where the next sample often lies, too.
#[derive(Default)]
struct Looking<'a>(Option<(&'a Shard, Look)>);

impl<'a> Looking<'a> {
    /// Whether the page cache has the end of a record and what the index says of it. True if nobody tells: nothing is asked
    /// for then, and the kernel may read ahead as it likes.
    fn is_there(&mut self, place: &Place<'a>) -> bool {
        if !self.0.as_ref().is_some_and(|(shard, _)| std::ptr::eq(*shard, place.shard)) {
            self.0 = place.shard.content().look().map(|look| (place.shard, look));
        }
        let Some((_, look)) = &self.0 else {
            place.shard.content().expect_all();
            return true;
        };
        // The beginning may lie in a page that was read for the sample before.
        let is_there = |range: Range<u64>| look.is_there(range.end.saturating_sub(1));
        // An index that is not there is not read to find the record.
        place.entry().is_none_or(is_there) && place.record().is_none_or(is_there)
    }
}

/// Asks for the records of all `ids`, and for their entries in the index: where that has to be read to find them, first.
fn ask_each(finder: &mut Finder, ids: impl Iterator<Item = Id>, look: gather::Look) -> Option<()> {
    let mut places = Vec::new();
    places.try_reserve_exact(TOGETHER.min(ids.size_hint().1?)).ok()?;
    let mut parts = Parts::default();
    let mut ids = ids.peekable();
    let mut pace = Pace::new(look);
    while ids.peek().is_some() && parts.asked < MOST {
        places.clear();
        for id in ids.by_ref().take(TOGETHER) {
            // A shard may have to be opened. Reading will find that the batch is not wanted.
            pace.wait(0).ok()?;
            places.extend(finder.place(id));
        }
        for place in &places {
            parts.add(place, place.entry())?;
        }
        parts.ask();
        for place in &places {
            // An entry of the index is waited for.
            pace.wait(0).ok()?;
            parts.add(place, place.record())?;
        }
        parts.ask();
    }
    Some(())
}

/// Parts of files, in whole pages.
#[derive(Default)]
struct Parts<'a> {
    parts: Vec<Part<'a>>,
    /// Bytes that were asked for.
    asked: u64,
}

struct Part<'a> {
    /// By which parts are sorted: cache and first sample of the shard.
    of: (u32, u64),
    shard: &'a Shard,
    range: Range<u64>,
}

impl<'a> Parts<'a> {
    /// Adds a range of the file where the sample lies, if there is one. None if there is no memory for it.
    fn add(&mut self, place: &Place<'a>, range: Option<Range<u64>>) -> Option<()> {
        let Some(range) = range else { return Some(()) };
        let page = rustix::param::page_size() as u64;
        let range = range.start / page * page..range.end.checked_next_multiple_of(page)?;
        let of = (place.cache, place.first);
        match self.parts.last_mut() {
            Some(last) if last.of == of && last.range.start <= range.start && range.start <= last.range.end => {
                last.range.end = last.range.end.max(range.end);
            }
            _ => {
                self.parts.try_reserve(1).ok()?;
                self.parts.push(Part { of, shard: place.shard, range });
            }
        }
        Some(())
    }

    /// Asks for all of them, each page once, and forgets them.
    fn ask(&mut self) {
        self.parts.sort_unstable_by_key(|part| (part.of, part.range.start));
        let mut parts = self.parts.drain(..).peekable();
        while let Some(Part { of, shard, mut range }) = parts.next() {
            while let Some(next) = parts.next_if(|next| next.of == of && next.range.start <= range.end) {
                range.end = range.end.max(next.range.end);
            }
            self.asked += range.end - range.start;
            shard.content().ask(range);
        }
    }
}

#[cfg(test)]
mod tests;
