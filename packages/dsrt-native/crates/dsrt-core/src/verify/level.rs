//! How much is looked at.

/// How much of a cache is looked at. Each level finds all that the one before it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything but the bytes of the records.
    Structure,
    /// Also every record, as a reader would read it.
    Records,
    /// Also the digest of every body.
    Digests,
}

impl Level {
    /// Every level, the least first.
    pub const ALL: [Self; 3] = [Self::Structure, Self::Records, Self::Digests];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Records => "records",
            Self::Digests => "digests",
        }
    }

    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}
