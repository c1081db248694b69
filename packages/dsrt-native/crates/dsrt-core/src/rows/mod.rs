//! Populations: which samples, with which weights and extra columns, and what a batch of them holds.

mod builtin;
mod column;
mod digest;
mod extra;
mod population;
mod projection;
mod room;
mod selection;
mod stored;
mod table;
mod weights;

pub use builtin::NAMES as BUILT_IN;
pub use column::Column;
pub use population::{Places, Population};
pub use projection::{Projection, Wanted};
pub use weights::Weights;
