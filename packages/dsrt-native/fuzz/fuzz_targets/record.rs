//! A stored record: frame, delta, text.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|given: &[u8]| -> Corpus { if dsrt_core::fuzz::record(given) { Corpus::Keep } else { Corpus::Reject } });
