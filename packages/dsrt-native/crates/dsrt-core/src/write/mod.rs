//! Writing a cache: samples come one after the other, and in the end there is a complete cache or nothing.
//!
//! Everything is written into a locked directory beside the target (`work`), made durable, and shown by one
//! rename (`publish`). What a reader can find at the target is at every moment a whole cache or none.

mod arrow;
mod column;
mod file;
mod lock;
mod metadata;
mod plan;
mod publish;
mod samples;
mod shard;
mod size;
mod target;
mod train;
mod value;
mod work;
mod writer;

pub use plan::{Dictionary, Earlier, Encoding, WriterOptions};
pub use samples::{Records, Samples};
pub use train::{DICTIONARY_SIZES, SAMPLE_BYTES, train_dictionary};
pub use value::{Record, Value, scalar_bytes};
pub use writer::{Published, Writer};
