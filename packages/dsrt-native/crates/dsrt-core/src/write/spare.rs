//! Memory of blocks that were written, for coming ones.

use super::block::Part;

/// So many bytes are kept.
const MOST: usize = 64 << 20;

/// Empty parts by field, since fields differ in size.
pub(super) struct Spare {
    parts: Vec<Vec<Part>>,
    bytes: usize,
}

impl Spare {
    /// None yet, for so many fields.
    pub(super) fn new(fields: usize) -> Self {
        Self { parts: std::iter::repeat_with(Vec::new).take(fields).collect(), bytes: 0 }
    }

    /// An empty part.
    pub(super) fn take(&mut self, field: usize) -> Part {
        let part = self.parts.get_mut(field).and_then(Vec::pop).unwrap_or_default();
        self.bytes -= part.capacity();
        part
    }

    /// Keeps a part that nobody needs any more, unless there is enough.
    pub(super) fn give(&mut self, field: usize, mut part: Part) {
        part.clear();
        let capacity = part.capacity();
        if self.bytes + capacity <= MOST
            && let Some(parts) = self.parts.get_mut(field)
        {
            self.bytes += capacity;
            parts.push(part);
        }
    }
}
