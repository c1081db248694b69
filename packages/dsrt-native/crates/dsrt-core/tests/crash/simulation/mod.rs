//! Crashes of a writer, simulated from its own recorded operations.
//!
//! A writer runs once and [`trace`] records what it does to files, in order. [`model`] knows what a disk owes us after
//! each operation and, when the power fails there, makes images of what it may have kept. [`survey`] restores each
//! image and lets the next run go on from it. [`faults`] lets single operations fail instead.

pub mod controls;
pub mod dataset;
pub mod faults;
pub mod merging;
pub mod model;
pub mod random;
pub mod reading;
pub mod scenario;
pub mod survey;
pub mod trace;
pub mod tree;
