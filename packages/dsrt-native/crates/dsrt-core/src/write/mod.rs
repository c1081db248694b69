//! Writing a cache: samples come one after the other, and in the end there is a complete cache or nothing.
//!
//! The caller's thread copies samples into blocks (`writer`, `open`, `block`). Threads encode them, cut them into shards and
//! append them to the files, each field on its own and in the order of the samples (`schedule`, `worker`), so that what comes
//! out depends on nothing but samples and options. One thread (`sealer`) makes shard after shard durable and notes it in a
//! journal (`durable`), from which a next run goes on. Everything is written into a locked directory beside the target (`work`)
//! and shown by one rename (`publish`): what a reader can find at the target is at every moment a whole cache or none.
//!
//! The way of a sample, room by room:
//!
//! 1. `writer`, `open`: judged by the `options`, and copied into a `block`; the first ones are held back (`hold`) where a
//!    dictionary is to be trained (`train`) on them.
//! 2. `encode`: a job for each field of a block, in any order. `schedule` says which of the `jobs` is next for a `worker`.
//! 3. `cut`: blocks in order; where shards end follows from counts and lengths. Rows of metadata go to the `spill`.
//! 4. `shard`: in order within each field. A `Sum` digests bodies and makes indices, then a `Shard` is written, a `file`.
//! 5. `shards`: what is pending until the files of all fields are complete; then it is a `Complete` one.
//! 6. `sealer`, `durable`: it is synced, and noted in the `journal` as `Sealed`. The journal begins with the `plan`, by
//!    which a next run knows whether it may go on (`unfinished`, `durable/takeover`, `resume`).
//! 7. `durable/completion`: the spill becomes the `metadata` table; manifest; `publish`. Every change of a file is one of
//!    the operations of `disk`.

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
pub(crate) mod journal;
mod lock;
mod merge;
mod metadata;
mod open;
mod options;
mod plan;
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
mod umask;
mod unfinished;
mod value;
mod work;
mod worker;
mod writer;

pub use disk::{Disk, Observer, Operation};
pub use lock::leave_locks_to_parent;
pub use merge::{MergeOptions, merge, merge_on};
pub use options::{Dictionary, Earlier, Encoding, WriterOptions};
pub use samples::{Records, Samples};
pub use train::{DICTIONARY_SIZES, SAMPLE_BYTES, train_dictionary};
pub use unfinished::{Left, left_beside};
pub use value::{Record, Value, scalar_bytes};
pub use work::tidy;
pub use writer::{Published, Writer};
