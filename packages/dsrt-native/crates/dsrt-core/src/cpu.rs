//! What the processors can do: how many there are, plain loops compiled for their widest registers, and memory asked for
//! ahead.
//!
//! Nothing here is written in vector instructions. A [`Loop`] is plain arithmetic over slices; compiled once more for
//! each set of instructions, it is what the compiler makes of it, and the plain one is the oracle of the others.

use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many CPUs this process may use, by affinity and by the limits of its control group, as they were when it first
/// asked: the system takes longer to answer than a batch takes to be read.
pub fn count() -> usize {
    /// The process that asked, and the answer.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let pid = std::process::id();
    let known = KNOWN.load(Ordering::Relaxed);
    if known >> 32 == u64::from(pid) {
        return known as u32 as usize;
    }
    let count = std::thread::available_parallelism().map_or(1, NonZero::get).min(u32::MAX as usize);
    KNOWN.store(u64::from(pid) << 32 | count as u64, Ordering::Relaxed);
    count
}

/// A loop over plain numbers, to be compiled in its caller's instructions: `run` is `#[inline(always)]`, and so is what it
/// calls. It is written with `for`; the closure of a `for_each` or `sum` may become a function of its own, in plain
/// instructions.
pub(crate) trait Loop {
    /// Does the work.
    fn run(self);
}

/// A set of instructions that this processor has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instructions(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// The widest that this processor has.
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                return Self(Set::Avx512);
            }
            if is_x86_feature_detected!("avx2") {
                return Self(Set::Avx2);
            }
        }
        Self(Set::Plain)
    }

    /// All that this processor has.
    #[cfg(test)]
    pub fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let wide = [(Set::Avx2, is_x86_feature_detected!("avx2")), (Set::Avx512, has_avx512())];
        #[cfg(not(target_arch = "x86_64"))]
        let wide = [];
        let has = wide.into_iter().filter_map(|(set, has)| has.then_some(Self(set)));
        std::iter::once(Self(Set::Plain)).chain(has).collect()
    }

    /// Runs `work` in these instructions.
    pub fn run(self, work: impl Loop) {
        match self.0 {
            Set::Plain => work.run(),
            // SAFETY: a value with this set is made only where the processor has these instructions.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { avx512(work) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(work: impl Loop) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512(work: impl Loop) {
    work.run();
}

/// Asks for the memory of `items[index]` ahead, if it is there. A hint: nothing waits for it.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction, and it changes and faults nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [u64], &'a mut u64);

    impl Loop for Sum<'_> {
        #[inline(always)]
        fn run(self) {
            *self.1 = self.0.iter().map(|x| x.wrapping_mul(x ^ 7)).fold(0, u64::wrapping_add);
        }
    }

    #[test]
    fn every_set_of_instructions_gives_the_same_and_the_widest_is_one_of_them() {
        let numbers: Vec<u64> = (0..1000).map(|x| x << 40 | x).collect();
        let results = Instructions::all().into_iter().map(|instructions| {
            let mut sum = 0;
            instructions.run(Sum(&numbers, &mut sum));
            sum
        });
        let results: Vec<u64> = results.collect();
        assert!(results.iter().all(|sum| *sum == results[0] && *sum != 0));
        let widest = Instructions::widest().0;
        assert_eq!(Instructions::all().pop().map(|instructions| instructions.0), Some(widest));
    }

    #[test]
    fn the_cpus_are_those_that_the_process_may_use() {
        let expected = std::thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!([count(), count()], [expected; 2]);
    }

    #[test]
    fn what_is_not_there_is_not_asked_for() {
        prefetch(&[1u64, 2], 1);
        prefetch(&[1u64, 2], usize::MAX);
    }
}
