//! Writing a cache: samples come one after the other, and in the end there is a complete cache or nothing.
//!
//! The caller's thread copies samples into blocks (`writer`, `open`, `block`). Threads encode them, cut them into shards and
//! append them to the files, each field on its own and in the order of the samples (`schedule`, `worker`), so that what comes
//! out depends on nothing but samples and options. One thread (`sealer`) makes shard after shard durable and notes it in a
//! journal (`durable`), from which a next run goes on. Everything is written into a locked directory beside the target (`work`)
//! and shown by one rename (`publish`): what a reader can find at the target is at every moment a whole cache or none.

mod age;
mod arrow;
mod block;
mod column;
mod cut;
mod disk;
mod durable;
mod encode;
mod file;
mod hold;
mod jobs;
mod journal;
mod lock;
mod merge;
mod metadata;
mod open;
mod plan;
mod planned;
mod proof;
mod publish;
mod resume;
mod samples;
mod schedule;
mod sealed;
mod sealer;
mod shard;
mod shards;
mod size;
mod spare;
mod spill;
mod target;
mod threads;
mod train;
mod unfinished;
mod value;
mod work;
mod worker;
mod writer;

pub use disk::{Disk, Observer, Operation};
pub use lock::leave_locks_to_parent;
pub use merge::{MergeOptions, merge, merge_on};
pub use plan::{Dictionary, Earlier, Encoding, WriterOptions};
pub use samples::{Records, Samples};
pub use train::{DICTIONARY_SIZES, SAMPLE_BYTES, train_dictionary};
pub use value::{Record, Value, scalar_bytes};
pub use work::tidy;
pub use writer::{Published, Writer};
