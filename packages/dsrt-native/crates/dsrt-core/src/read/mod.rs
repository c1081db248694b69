//! Published caches: opening them, and reading samples with every byte checked.

pub mod gather;

pub use gather::{Damage, Id, OnDamage, Planned, Rows, Source, gather};
