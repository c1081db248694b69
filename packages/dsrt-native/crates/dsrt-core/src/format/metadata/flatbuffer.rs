//! What is asked of descriptions beyond what the verifier of the flatbuffers crate asks.

use arrow_ipc::{Footer, Message, root_as_footer, root_as_message};
use flatbuffers::{InvalidFlatbuffer, Table, VOffsetT};

use super::breach;
use crate::error::{Error, Result};

/// Bytes of a table's directory that hold its own size and the table's.
const SIZES: usize = 4;

/// The footer in `bytes`, verified.
pub(super) fn footer(bytes: &[u8]) -> Result<Footer<'_>> {
    let footer = root_as_footer(bytes).map_err(|e| refused("the footer", &e))?;
    let references = [Footer::VT_SCHEMA, Footer::VT_DICTIONARIES, Footer::VT_RECORDBATCHES, Footer::VT_CUSTOM_METADATA];
    whole(footer._tab, &references)?;
    Ok(footer)
}

/// The message in `bytes`, verified.
pub(super) fn message(bytes: &[u8]) -> Result<Message<'_>> {
    let message = root_as_message(bytes).map_err(|e| refused("a message", &e))?;
    whole(message._tab, &[Message::VT_HEADER, Message::VT_CUSTOM_METADATA])?;
    Ok(message)
}

/// Checks that the directory of a table has room for its own sizes, and that none of its `references` leads to its own
/// place (R042). The verifier takes a directory without room, in which every field is absent and has its default, and
/// a reference of 0 for an empty vector, whose length it then is; other languages' verifiers take neither.
pub(super) fn whole(table: Table, references: &[VOffsetT]) -> Result<()> {
    let directory = table.vtable();
    if directory.num_bytes() < SIZES {
        return Err(breach(42, "a description is damaged: a table has no directory"));
    }
    for field in references {
        let place = usize::from(directory.get(*field));
        let found = table.loc().checked_add(place).and_then(|at| table.buf().get(at..));
        if place > 0 && found.is_some_and(|bytes| bytes.starts_with(&[0; 4])) {
            return Err(breach(42, "a description is damaged: a reference leads to its own place"));
        }
    }
    Ok(())
}

/// Damage is a breach of R042; of text that is not UTF-8 (names, zones, custom metadata) speaks R045.
fn refused(what: &str, error: &InvalidFlatbuffer) -> Error {
    match error {
        InvalidFlatbuffer::Utf8Error { .. } => breach(45, format!("a name in {what} is not UTF-8")),
        // Further lines trace the way to the place, in terms of the schema's tables.
        _ => breach(42, format!("{what} is damaged: {}", error.to_string().lines().next().unwrap_or_default())),
    }
}
