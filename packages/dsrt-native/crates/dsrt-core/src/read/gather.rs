//! One batch from many samples: plan every column, allocate once, fill every column.
//!
//! A column is anything that can say what a batch of it needs and then write it: a payload field, a metadata
//! column, a number known without reading. The driver knows nothing of them, and they nothing of each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::{Allocator, Batch, Column, Layout, Spans};
use crate::copy::settle;
use crate::cpu;
use crate::dtype::Element;
use crate::error::{Error, Kind, Result};

/// The column that says which samples of a batch are neither padding nor damaged.
pub const VALID: &str = "_valid";

/// The rules whose breach, found by a read, is damage of a record and not of the whole cache.
const DAMAGE: std::ops::RangeInclusive<u16> = 30..=40;

/// A sample of one of the caches that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id {
    /// Which of the caches.
    pub cache: u32,
    /// Which of its samples.
    pub sample: u64,
}

/// How many threads may fill a column.
#[derive(Clone, Copy, Debug)]
pub enum Threads {
    /// So many, as somebody said who knows.
    Given(usize),
    /// Up to so many, of which none is left without a CPU.
    UpTo(usize),
}

impl Threads {
    /// So many of them do what is worth as many as `worthwhile`: one at least. The CPUs are counted where it matters only,
    /// as that takes longer than a small batch when it is first done.
    pub(crate) fn of(self, worthwhile: usize) -> usize {
        let threads = match self {
            Self::Given(threads) => threads.min(worthwhile),
            Self::UpTo(threads) if threads.min(worthwhile) > 1 => threads.min(worthwhile).min(cpu::count()),
            Self::UpTo(_) => 1,
        };
        threads.max(1)
    }
}

/// Called now and then while a batch is gathered, by any of the threads that do it. An error ends that and comes up. A
/// look that failed must fail again: where the kernel is only given hints, the error is left for the next look to find.
pub type Look<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// Looks again and again, by how much has been done.
pub(crate) struct Pace<'a> {
    look: Look<'a>,
    /// Bytes until the next look.
    left: usize,
}

impl<'a> Pace<'a> {
    /// Between two looks: a fraction of a millisecond, or some of what has to be waited for.
    const BYTES: usize = 1 << 20;

    /// What a record counts for beside its bytes.
    const RECORD: usize = 256;

    /// What it counts for at least if it is not mapped: reading it may take as long as it takes to ask a server.
    const WAIT: usize = 64 << 10;

    pub(crate) fn new(look: Look<'a>) -> Self {
        Self { look, left: Self::BYTES }
    }

    /// Notes that a record of so many bytes is being done.
    #[inline]
    pub(crate) fn record(&mut self, bytes: usize) -> Result<()> {
        if let Some(left) = self.left.checked_sub(bytes.saturating_add(Self::RECORD)) {
            self.left = left;
            return Ok(());
        }
        self.left = Self::BYTES;
        (self.look)()
    }

    /// Notes that so many bytes were read, which may have been waited for.
    #[inline]
    pub(crate) fn wait(&mut self, bytes: usize) -> Result<()> {
        self.record(bytes.max(Self::WAIT))
    }
}

/// The samples of a batch, in its order. All slices have the same length.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// What to read.
    pub ids: &'a [Id],
    /// Place of each in the population.
    pub rows: &'a [u64],
    /// Place of each in the stream; the rows where there is no stream.
    pub positions: &'a [u64],
    /// False for padding, which repeats real samples and is read like any other.
    pub valid: &'a [bool],
    /// Of the order.
    pub seed: u64,
    /// Asked whether the batch is still wanted.
    pub look: Look<'a>,
}

impl Rows<'_> {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// A column that can be gathered.
pub trait Source: Send + Sync {
    /// The elements and the shape of what each sample has in a batch, where that is the same for all. None for what is
    /// ragged or a string.
    fn dense(&self) -> Option<(Element, Box<[u64]>)>;

    /// Checks all that must be checked before memory is asked for, and reserves the column's spans.
    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, damage: &mut Damage) -> Result<Box<dyn Planned + 'a>>;
}

/// A column whose spans are reserved.
pub trait Planned {
    /// Writes the column into its spans, all of them: the memory may be a former batch's. `threads` may do it.
    ///
    /// A record found damaged only now is zero in a dense column and empty in others; these close the gap, so a
    /// span of the layout may be shorter than what was reserved.
    fn fill(self: Box<Self>, buffer: &mut [u8], damage: &mut Damage, threads: Threads) -> Result<Layout>;
}

/// What becomes of a batch with a damaged record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDamage {
    /// The error is raised.
    Raise,
    /// The record is zero or empty, `_valid` is false, and the batch says so.
    Mask,
}

/// Collects what is found damaged while a batch is gathered.
pub struct Damage {
    on: OnDamage,
    column: usize,
    found: BTreeMap<(usize, usize), Error>,
}

impl Damage {
    pub(super) fn new(on: OnDamage) -> Self {
        Self { on, column: 0, found: BTreeMap::new() }
    }

    /// From now on, that column is gathered.
    pub(super) fn begin(&mut self, column: usize) {
        self.column = column;
    }

    /// Makes the flags of samples false that are damaged in any column.
    pub(super) fn mark(&self, flags: &mut [u8]) {
        for (_, place) in self.found.keys() {
            if let Some(flag) = flags.get_mut(*place) {
                *flag = 0;
            }
        }
    }

    /// Reports a problem with the sample at `place` in the batch, in the column being gathered. Gives the error back
    /// if it is to be raised; a column that gets `Ok` leaves the record zero or empty.
    pub fn report(&mut self, place: usize, error: Error) -> Result<()> {
        let error = self.judge(error)?;
        self.found.entry((self.column, place)).or_insert(error);
        Ok(())
    }

    /// Reports a problem that several threads may find at once: gives it back as the error that it is if it is to be
    /// raised, and else for [`Damage::report`] later on.
    pub fn judge(&self, error: Error) -> Result<Error> {
        let is_data = matches!(error.kind(), Kind::Format | Kind::Data);
        let is_damage = is_data && error.rule_number().is_some_and(|rule| DAMAGE.contains(&rule));
        if self.on == OnDamage::Mask && is_damage { Ok(error) } else { Err(error) }
    }

    /// Whether the first damage ends the batch.
    pub fn raises(&self) -> bool {
        self.on == OnDamage::Raise
    }

    /// Whether the sample at `place` was reported in the column being gathered.
    pub fn is_damaged(&self, place: usize) -> bool {
        !self.found.is_empty() && self.found.contains_key(&(self.column, place))
    }
}

/// Gathers a batch of all `columns`, with up to `threads` threads where it is large. Each error that is about a sample
/// names cache, field, shard and sample.
///
/// Under [`OnDamage::Mask`] the column [`VALID`], if it is asked for, is made false where any column is damaged.
pub fn gather(
    columns: &[(Arc<str>, Arc<dyn Source>)],
    rows: &Rows,
    memory: &dyn Allocator,
    on_damage: OnDamage,
    threads: Threads,
) -> Result<Batch> {
    let mut damage = Damage::new(on_damage);
    let mut spans = Spans::default();
    let mut plans = Vec::with_capacity(columns.len());
    // Many columns may each be too small to look.
    let mut pace = Pace::new(rows.look);
    for (column, (_, source)) in columns.iter().enumerate() {
        pace.wait(0)?;
        damage.begin(column);
        plans.push(source.plan(rows, &mut spans, &mut damage)?);
    }
    let mut buffer = memory.allocate(spans.total())?;
    // Before the buffer goes anywhere, be it back to where it came from.
    let settled = Settled;
    let mut filled = Vec::with_capacity(columns.len());
    for (column, ((name, _), plan)) in columns.iter().zip(plans).enumerate() {
        pace.wait(0)?;
        damage.begin(column);
        let layout = plan.fill(buffer.bytes_mut(), &mut damage, threads)?;
        filled.push(Column { name: name.clone(), layout });
    }
    if let Some(valid) = filled.iter().find(|column| *column.name == *VALID) {
        mark(valid, buffer.bytes_mut(), &damage)?;
    }
    clear_gaps(&filled, buffer.bytes_mut());
    drop(settled);
    let damaged = damage.found.into_iter().map(|((_, place), error)| (place, error)).collect();
    Ok(Batch { buffer, columns: filled, len: rows.len(), damaged })
}

/// Settles what columns wrote past the caches, when it is dropped.
pub(super) struct Settled;

impl Drop for Settled {
    fn drop(&mut self) {
        settle();
    }
}

/// Zeros what no column uses: a few bytes between them, and what a damaged record was to take. They are part of the
/// memory that Python gets, and may be a former batch's.
fn clear_gaps(columns: &[Column], buffer: &mut [u8]) {
    let mut used: Vec<_> = columns.iter().flat_map(|column| column.layout.spans()).collect();
    used.sort_unstable_by_key(|span| span.at);
    let mut end = 0;
    for span in used {
        buffer.get_mut(end..span.at).unwrap_or_default().fill(0);
        // An empty one may come behind one that begins where it lies.
        end = end.max(span.at + span.len);
    }
    buffer.get_mut(end..).unwrap_or_default().fill(0);
}

/// Makes `_valid` false where something is damaged.
fn mark(valid: &Column, buffer: &mut [u8], damage: &Damage) -> Result<()> {
    let Layout::Dense { values, .. } = valid.layout else {
        return Err(Error::new(Kind::Internal, "the column _valid is not dense"));
    };
    damage.mark(values.of_mut(buffer)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Buffer, Heap, Span};
    use crate::dtype::DType;

    #[test]
    fn threads_are_as_many_as_is_worth_it_and_by_default_none_is_without_a_cpu() {
        assert_eq!([0, 1, 3, 90].map(|worthwhile| Threads::Given(40).of(worthwhile)), [1, 1, 3, 40]);
        let most = cpu::count().min(40);
        assert_eq!([0, 1, 3, 90].map(|worthwhile| Threads::UpTo(40).of(worthwhile)), [1, 1, most.min(3), most]);
        assert_eq!([Threads::Given(0).of(5), Threads::UpTo(0).of(5)], [1, 1]);
    }

    /// One byte a sample: its number, or a breach of rule `self.1` at the samples of `self.0`.
    struct Bytes(Vec<u64>, u16);

    struct PlannedBytes<'a>(&'a Bytes, Rows<'a>, Span);

    impl Source for Bytes {
        fn dense(&self) -> Option<(Element, Box<[u64]>)> {
            Some((Element::Plain(DType::UInt8), [].into()))
        }

        fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
            Ok(Box::new(PlannedBytes(self, *rows, spans.reserve(rows.len() as u64)?)))
        }
    }

    impl Planned for PlannedBytes<'_> {
        fn fill(self: Box<Self>, buffer: &mut [u8], damage: &mut Damage, _: Threads) -> Result<Layout> {
            let Self(bytes, rows, values) = *self;
            for (place, (to, id)) in values.of_mut(buffer)?.iter_mut().zip(rows.ids).enumerate() {
                *to = id.sample as u8;
                if bytes.0.contains(&id.sample) {
                    damage.report(place, Error::rule(Kind::Data, bytes.1, "bad").at_sample(id.sample))?;
                    assert!(damage.is_damaged(place));
                    *to = 0;
                }
            }
            let shape = [rows.len() as u64].into();
            Ok(Layout::Dense { element: Element::Plain(DType::UInt8), shape, values })
        }
    }

    struct Valid;

    struct PlannedValid<'a>(Rows<'a>, Span);

    impl Source for Valid {
        fn dense(&self) -> Option<(Element, Box<[u64]>)> {
            Some((Element::Plain(DType::Bool), [].into()))
        }

        fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
            Ok(Box::new(PlannedValid(*rows, spans.reserve(rows.len() as u64)?)))
        }
    }

    impl Planned for PlannedValid<'_> {
        fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
            for (to, valid) in self.1.of_mut(buffer)?.iter_mut().zip(self.0.valid) {
                *to = u8::from(*valid);
            }
            let shape = [self.0.len() as u64].into();
            Ok(Layout::Dense { element: Element::Plain(DType::Bool), shape, values: self.1 })
        }
    }

    /// Memory of a former batch.
    struct Used;

    impl Allocator for Used {
        fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
            let mut buffer = Heap.allocate(bytes)?;
            buffer.bytes_mut().fill(0xAA);
            Ok(buffer)
        }
    }

    fn run(bad: Vec<u64>, rule: u16, on: OnDamage) -> Result<Vec<Vec<u8>>> {
        let ids: Vec<_> = [5, 6, 7, 7].map(|sample| Id { cache: 0, sample }).into();
        let rows = Rows {
            ids: &ids,
            rows: &[0; 4],
            positions: &[0; 4],
            valid: &[true, true, true, false],
            seed: 0,
            look: &|| Ok(()),
        };
        let columns: [(Arc<str>, Arc<dyn Source>); 3] = [
            ("a".into(), Arc::new(Bytes(bad, rule))),
            (VALID.into(), Arc::new(Valid)),
            ("b".into(), Arc::new(Bytes(vec![], 0))),
        ];
        let batch = gather(&columns, &rows, &Used, on, Threads::Given(1))?;
        assert_eq!(batch.len, 4);
        // Nothing of a former batch is left, not even where no column lies.
        assert!(!batch.buffer.bytes().contains(&0xAA));
        let mut found: Vec<_> = batch
            .columns
            .iter()
            .map(|column| match column.layout {
                Layout::Dense { values, .. } => values.of(batch.buffer.bytes()).unwrap().to_vec(),
                _ => panic!(),
            })
            .collect();
        found.push(batch.damaged.iter().map(|(place, _)| *place as u8).collect());
        Ok(found)
    }

    #[test]
    fn a_pace_looks_after_some_bytes_many_records_or_a_few_that_were_waited_for() {
        let looks = std::sync::atomic::AtomicUsize::new(0);
        let look = || -> Result<()> {
            looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        let of = |done: fn(&mut Pace) -> Result<()>, times: usize| {
            looks.store(0, std::sync::atomic::Ordering::Relaxed);
            let mut pace = Pace::new(&look);
            (0..times).for_each(|_| done(&mut pace).unwrap());
            looks.load(std::sync::atomic::Ordering::Relaxed)
        };
        assert_eq!(of(|pace| pace.record(usize::MAX), 3), 3);
        assert_eq!([4096, 4097, 2 * 4097].map(|times| of(|pace| pace.record(0), times)), [0, 1, 2]);
        assert_eq!([15, 16, 100].map(|times| of(|pace| pace.wait(0), times)), [0, 1, 6]);
        assert_eq!(of(|pace| pace.wait(1 << 20), 2), 2);
    }

    #[test]
    fn columns_come_in_the_order_asked_for() {
        let found = run(vec![], 0, OnDamage::Raise).unwrap();
        assert_eq!(found, [&[5, 6, 7, 7][..], &[1, 1, 1, 0], &[5, 6, 7, 7], &[]]);
    }

    #[test]
    fn damage_is_masked_and_valid_says_so() {
        let found = run(vec![6, 7], 33, OnDamage::Mask).unwrap();
        assert_eq!(found, [&[5, 0, 0, 0][..], &[1, 0, 0, 0], &[5, 6, 7, 7], &[1, 2, 3]]);
    }

    #[test]
    fn damage_raises_when_it_is_to_and_other_breaches_always() {
        let error = run(vec![6], 33, OnDamage::Raise).unwrap_err();
        assert_eq!((error.rule_number(), error.place().sample), (Some(33), Some(6)));
        assert_eq!(run(vec![6], 41, OnDamage::Mask).unwrap_err().rule_number(), Some(41));
        assert_eq!(run(vec![6], 40, OnDamage::Mask).unwrap()[3], [1]);
    }
}
