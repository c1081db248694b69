//! Writing a cache: samples come one after the other, and in the end there is a complete cache or nothing.
//!
//! Everything is written into a locked directory beside the target (`work`), made durable, and shown by one
//! rename (`publish`). What a reader can find at the target is at every moment a whole cache or none.

mod age;
mod arrow;
mod column;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod disk;
#[allow(dead_code, reason = "the pipeline above it comes next")]
mod durable;
mod file;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod journal;
mod lock;
mod metadata;
mod plan;
mod planned;
mod publish;
mod resume;
mod samples;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod sealed;
mod shard;
mod size;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod spill;
mod target;
mod train;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod unfinished;
mod value;
#[allow(dead_code, reason = "the durability layer above it comes next")]
mod work;
mod writer;

pub use disk::{Disk, Observer, Operation};
pub use plan::{Dictionary, Earlier, Encoding, WriterOptions};
pub use samples::{Records, Samples};
pub use train::{DICTIONARY_SIZES, SAMPLE_BYTES, train_dictionary};
pub use value::{Record, Value, scalar_bytes};
pub use writer::{Published, Writer};
