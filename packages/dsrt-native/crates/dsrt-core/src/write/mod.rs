//! Writing a cache: samples come one after the other, and in the end there is a complete cache or nothing.
//!
//! Everything is written into a locked directory beside the target (`work`), made durable, and shown by one
//! rename (`publish`). What a reader can find at the target is at every moment a whole cache or none.

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
mod journal;
mod lock;
mod merge;
mod metadata;
mod plan;
mod planned;
mod publish;
mod resume;
mod samples;
mod schedule;
mod sealed;
mod shard;
mod size;
mod spill;
mod target;
mod threads;
mod train;
mod unfinished;
mod value;
mod work;
mod writer;

pub use disk::{Disk, Observer, Operation};
pub use lock::leave_locks_to_parent;
pub use merge::{MergeOptions, merge, merge_on};
pub use plan::{Dictionary, Earlier, Encoding, WriterOptions};
pub use samples::{Records, Samples};
pub use train::{DICTIONARY_SIZES, SAMPLE_BYTES, train_dictionary};
pub use value::{Record, Value, scalar_bytes};
pub use writer::{Published, Writer};
