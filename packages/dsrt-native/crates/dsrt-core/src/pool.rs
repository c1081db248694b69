//! Memory of batches that is used again.
//!
//! A page that is touched for the first time costs more than what is copied into it. So a batch that is dropped, which
//! happens when the last array that views it dies, leaves its memory here, and the next of about its size takes it.
//! What lies here is bounded in bytes, and given back to the system when nobody has wanted it for a while.
//!
//! There is nothing to wait for: each place has a lock of its own that is only ever tried. A child of a fork may find
//! some locked for ever and does without them; memory that its parent left here it gives back, since writing there
//! would copy the parent's pages first.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memmap2::{MmapMut, MmapOptions};

use crate::batch::{Allocator, Buffer, Heap};
use crate::error::{Error, Kind, Result};

/// Less is left to the heap, which is as fast there.
const SMALL: usize = 4 << 10;

/// From here on pages are huge, if the system has such.
const LARGE: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// The most bytes that lie here.
const MOST: usize = 512 << 20;

/// How long memory lies here that nobody wants.
const PATIENCE: Duration = Duration::from_secs(10);

static PLACES: [Mutex<Option<Idle>>; 32] = [const { Mutex::new(None) }; 32];

/// Bytes that lie here.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Recycled memory, one pool for the whole process; the heap for what is small.
///
/// The memory is initialised: with zeros when it is new, else with a former batch.
pub struct Pool;

impl Allocator for Pool {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        if bytes < SMALL {
            return Heap.allocate(bytes);
        }
        let memory = match take(bytes) {
            Some(memory) => memory,
            None => Memory::new(roomy(bytes)).map_err(|_| refused(bytes))?,
        };
        Ok(Box::new(Slot { memory: Some(memory), len: bytes }))
    }

    fn is_plain(&self) -> bool {
        true
    }
}

/// The memory of one batch.
struct Slot {
    /// There until it is dropped.
    memory: Option<Memory>,
    len: usize,
}

impl Buffer for Slot {
    fn bytes(&self) -> &[u8] {
        self.memory.as_ref().and_then(|memory| memory.bytes().get(..self.len)).unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.as_mut().and_then(|memory| memory.bytes_mut().get_mut(..self.len)).unwrap_or_default()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            put(memory);
        }
    }
}

fn refused(bytes: usize) -> Error {
    Error::new(Kind::Memory, format!("a batch of {bytes} bytes cannot be allocated"))
}

/// Some more than `bytes`, so that batches which differ a little can have each other's memory.
fn roomy(bytes: usize) -> usize {
    let step = (bytes / 8).next_power_of_two().max(SMALL);
    bytes.checked_next_multiple_of(step).unwrap_or(usize::MAX)
}

/// Pages of the system's.
pub(crate) struct Memory {
    pages: MmapMut,
    /// Where a huge page begins, if there are such.
    skip: usize,
    /// The process that made them.
    pid: u32,
}

impl Memory {
    /// At least `bytes` bytes of zeros, or the system's error.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let slack = if bytes < LARGE { 0 } else { HUGE_PAGE };
        let len = bytes.checked_add(slack).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut options = MmapOptions::new();
        if slack == 0 {
            // All pages at once take half of what they take one by one, when they are written to. Huge ones are few, and
            // those who write may be many.
            options.populate();
        }
        let pages = options.len(len).map_anon()?;
        let mut skip = 0;
        if slack > 0 {
            #[cfg(target_os = "linux")]
            // Advice only, so a refusal means nothing.
            pages.advise(memmap2::Advice::HugePage).unwrap_or_default();
            skip = pages.as_ptr().addr().wrapping_neg() % HUGE_PAGE;
        }
        Ok(Self { pages, skip, pid: std::process::id() })
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.pages.get(self.skip..).unwrap_or_default()
    }

    /// All of it, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.pages.get_mut(self.skip..).unwrap_or_default()
    }

    fn len(&self) -> usize {
        self.pages.len().saturating_sub(self.skip)
    }

    /// Whether a batch of `bytes` bytes fits, and fills at least half of it.
    fn suits(&self, bytes: usize) -> bool {
        (self.len() / 2..=self.len()).contains(&bytes)
    }
}

/// Memory that nobody uses.
struct Idle {
    memory: Memory,
    since: Instant,
}

impl Idle {
    fn new(memory: Memory) -> Self {
        BYTES.fetch_add(memory.pages.len(), Ordering::Relaxed);
        Self { memory, since: Instant::now() }
    }

    fn is_stale(&self, pid: u32) -> bool {
        self.memory.pid != pid || self.since.elapsed() > PATIENCE
    }

    fn into_memory(self) -> Memory {
        BYTES.fetch_sub(self.memory.pages.len(), Ordering::Relaxed);
        self.memory
    }
}

/// Memory for a batch of `bytes` bytes, if there is any.
fn take(bytes: usize) -> Option<Memory> {
    let pid = std::process::id();
    for place in &PLACES {
        let Ok(mut idle) = place.try_lock() else { continue };
        if idle.as_ref().is_some_and(|idle| idle.is_stale(pid)) {
            drop(idle.take().map(Idle::into_memory));
        }
        if idle.as_ref().is_some_and(|idle| idle.memory.suits(bytes)) {
            return idle.take().map(Idle::into_memory);
        }
    }
    None
}

/// Leaves memory here, where there is room for it. Where every place is taken, it takes that of the smallest there, if it is
/// larger itself: many small batches that are dropped together do not cost a loader the memory of its large ones.
fn put(memory: Memory) {
    let pid = std::process::id();
    if memory.pid != pid || BYTES.load(Ordering::Relaxed).saturating_add(memory.pages.len()) > MOST {
        return;
    }
    let mut memory = Some(memory);
    let mut smallest = None;
    for place in &PLACES {
        let Ok(mut idle) = place.try_lock() else { continue };
        if idle.as_ref().is_some_and(|idle| idle.is_stale(pid)) {
            drop(idle.take().map(Idle::into_memory));
        }
        match &*idle {
            None => *idle = memory.take().map(Idle::new),
            Some(idle) => {
                let len = idle.memory.len();
                if smallest.is_none_or(|(_, least)| len < least) {
                    smallest = Some((place, len));
                }
            }
        }
        // All places are looked at: the last ones are hardly ever wanted, and so the first to become stale.
    }
    let Some((memory, (place, _))) = memory.zip(smallest) else { return };
    let Ok(mut idle) = place.try_lock() else { return };
    // Another thread may have left or taken something meanwhile.
    if idle.as_ref().is_none_or(|idle| idle.memory.len() < memory.len()) {
        let smaller = idle.replace(Idle::new(memory));
        drop(idle);
        drop(smaller.map(Idle::into_memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::ALIGNMENT;

    fn address(buffer: &dyn Buffer) -> usize {
        buffer.bytes().as_ptr().addr()
    }

    /// Sizes that no other test asks for.
    const SIZE: usize = 49 << 20;

    /// Held by tests that need the whole room.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> std::sync::MutexGuard<'static, ()> {
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for place in &PLACES {
            drop(place.lock().unwrap().take().map(Idle::into_memory));
        }
        alone
    }

    #[test]
    fn a_dropped_batch_leaves_its_memory_to_the_next_of_its_size() {
        let _alone = alone();
        let mut first = Pool.allocate(SIZE).unwrap();
        first.bytes_mut()[SIZE - 1] = 7;
        let at = address(&*first);
        let second = Pool.allocate(SIZE).unwrap();
        assert_ne!(address(&*second), at);
        drop(first);
        let third = Pool.allocate(SIZE + 100).unwrap();
        // The system may give the same place again, too, but clears it first.
        assert_eq!((address(&*third), third.bytes().len(), third.bytes()[SIZE - 1]), (at, SIZE + 100, 7));
        drop((second, third));
    }

    #[test]
    fn memory_of_any_size_is_aligned_and_as_large_as_asked_for() {
        for len in [0, 1, SMALL - 1, SMALL, SMALL + 1, 70_001, LARGE - 1, LARGE, LARGE + 4097] {
            let buffer = Pool.allocate(len).unwrap();
            assert_eq!((buffer.bytes().len(), address(&*buffer) % ALIGNMENT), (len, 0));
        }
        assert_eq!(Pool.allocate(usize::MAX).err().unwrap().kind(), Kind::Memory);
        assert_eq!(Pool.allocate(isize::MAX as usize).err().unwrap().kind(), Kind::Memory);
    }

    #[test]
    fn what_lies_here_is_bounded() {
        let _alone = alone();
        let many: Vec<_> = (0..40).map(|_| Pool.allocate(101 << 20).unwrap()).collect();
        drop(many);
        assert!(BYTES.load(Ordering::Relaxed) <= MOST);
    }

    #[test]
    fn many_small_batches_do_not_take_the_places_of_large_ones() {
        let _alone = alone();
        let large = Pool.allocate(SIZE).unwrap();
        let at = address(&*large);
        let many = |bytes| (0..2 * PLACES.len()).map(|_| Pool.allocate(bytes).unwrap()).collect::<Vec<_>>();
        drop(many(5 << 10));
        drop(large);
        // Those of the same size as what lies here do not take each other's places, and smaller ones none.
        drop((many(5 << 10), many(4 << 10)));
        let again = Pool.allocate(SIZE).unwrap();
        assert_eq!(address(&*again), at);
    }

    #[test]
    fn a_small_batch_does_not_take_large_memory() {
        let memory = Memory::new(1 << 20).unwrap();
        assert!(memory.suits(1 << 20) && memory.suits(700_000) && !memory.suits(400_000) && !memory.suits(2 << 20));
    }

    #[test]
    fn memory_of_the_parent_of_a_fork_and_what_nobody_wants_is_given_back() {
        let pid = std::process::id();
        let idle = |pid, since| Idle { memory: Memory { pid, ..Memory::new(SMALL).unwrap() }, since };
        let now = Instant::now();
        assert!(!idle(pid, now).is_stale(pid));
        assert!(idle(pid.wrapping_add(1), now).is_stale(pid));
        if let Some(long_ago) = now.checked_sub(PATIENCE + Duration::from_secs(1)) {
            assert!(idle(pid, long_ago).is_stale(pid));
        }
    }
}
