//! manifest.json.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|given: &[u8]| -> Corpus { if dsrt_core::fuzz::manifest(given) { Corpus::Keep } else { Corpus::Reject } });
