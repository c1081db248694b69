//! The jobs of a run, in the order in which their problems are listed.

use super::dictionary::DictionaryJob;
use super::level::Level;
use super::metadata::MetadataJob;
use super::part::Part;
use super::shard::ShardJob;
use super::unknown::UnknownJob;
use crate::format::manifest::Inventory;
use crate::read::{Directory, dictionary_name};

/// One file, or the search for those that do not belong.
pub(super) enum Job<'a> {
    Dictionary(DictionaryJob<'a>),
    Shard(ShardJob<'a>),
    Metadata(MetadataJob<'a>),
    Unknown(UnknownJob<'a>),
}

impl Job<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::Dictionary(job) if job.is_counted => job.file.bytes,
            Self::Shard(job) => job.bytes(),
            Self::Metadata(job) => job.entry.bytes,
            Self::Dictionary(_) | Self::Unknown(_) => 0,
        }
    }

    /// Whether others wait for it.
    fn is_dictionary(&self) -> bool {
        matches!(self, Self::Dictionary(_))
    }

    /// Whether it is one of the jobs that may take longest, and so begins first.
    fn is_single(&self) -> bool {
        matches!(self, Self::Metadata(_) | Self::Unknown(_))
    }
}

/// All jobs.
pub(super) struct Plan<'a>(Vec<Job<'a>>);

impl<'a> Plan<'a> {
    pub(super) fn new(directory: &'a Directory, inventory: &'a Inventory, level: Level, part: Part) -> Self {
        let shards = Shards { directory, inventory, level };
        let total = shards.all().map(|job| u128::from(job.file.bytes)).sum();
        let mut start = 0;
        let mut jobs = Vec::new();
        for number in 0..inventory.fields.len() {
            let mut own = Vec::new();
            for job in shards.of(number) {
                let bytes = job.file.bytes;
                if part.takes(start, bytes, total) {
                    own.push(Job::Shard(job));
                }
                start += u128::from(bytes);
            }
            let is_needed = part.is_first() || (level > Level::Structure && !own.is_empty());
            let dictionary = dictionary(directory, inventory, number, part).filter(|_| is_needed);
            jobs.extend(dictionary.map(Job::Dictionary));
            jobs.append(&mut own);
        }
        if part.is_first() {
            if let Some(entry) = &inventory.metadata {
                let fields = inventory.fields.iter().map(|field| &*field.name).collect();
                jobs.push(Job::Metadata(MetadataJob { directory, entry, samples: inventory.samples, fields }));
            }
            jobs.push(Job::Unknown(UnknownJob { directory, inventory }));
        }
        Self(jobs)
    }

    /// Bytes that are read, as far as the manifest tells.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(Job::bytes).fold(0, u64::saturating_add)
    }

    pub(super) fn job(&self, slot: usize) -> Option<&Job<'a>> {
        self.0.get(slot)
    }

    /// The slots of the dictionaries.
    pub(super) fn dictionaries(&self) -> Vec<usize> {
        self.slots(|job| job.is_dictionary())
    }

    /// The slots of all others, in the order in which they begin.
    pub(super) fn others(&self) -> Vec<usize> {
        let mut slots = self.slots(|job| job.is_single());
        slots.extend(self.slots(|job| !job.is_single() && !job.is_dictionary()));
        slots
    }

    fn slots(&self, is_one: impl Fn(&Job) -> bool) -> Vec<usize> {
        (0..).zip(&self.0).filter(|(_, job)| is_one(job)).map(|(slot, _)| slot).collect()
    }
}

/// The shard files that are described well enough to be opened.
struct Shards<'a> {
    directory: &'a Directory,
    inventory: &'a Inventory,
    level: Level,
}

impl<'a> Shards<'a> {
    fn all(&self) -> impl Iterator<Item = ShardJob<'a>> {
        (0..self.inventory.fields.len()).flat_map(|number| self.of(number))
    }

    /// Those of a field.
    fn of(&self, number: usize) -> impl Iterator<Item = ShardJob<'a>> + use<'a> {
        let (directory, level) = (self.directory, self.level);
        let entry = self.inventory.fields.get(number).and_then(|field| field.entry.as_ref());
        let counts = self.inventory.shards.as_deref().unwrap_or_default();
        let files = entry.into_iter().flat_map(|entry| entry.files.iter().map(move |file| (&entry.field, file)));
        let mut next = 0;
        (0..).zip(files).zip(counts).filter_map(move |((shard, (entry, file)), count)| {
            let first = next;
            next += count;
            let file = file.as_ref()?;
            Some(ShardJob { directory, level, field: number, entry, file, shard, count: *count, first })
        })
    }
}

fn dictionary<'a>(
    directory: &'a Directory,
    inventory: &'a Inventory,
    number: usize,
    part: Part,
) -> Option<DictionaryJob<'a>> {
    let entry = inventory.fields.get(number)?.entry.as_ref()?;
    Some(DictionaryJob {
        directory,
        number,
        field: entry.field.name.clone(),
        name: dictionary_name(&entry.field),
        file: entry.dictionary.as_ref()?,
        is_counted: part.is_first(),
    })
}
