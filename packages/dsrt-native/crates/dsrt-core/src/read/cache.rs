//! An open cache: its manifest in memory, its files opened when they are first needed.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use once_cell::race::OnceBox;

use super::directory::Directory;
use super::field::{FieldFiles, FieldReader, dictionary_name};
use super::io::{Access, Io};
use super::locate::Locator;
use super::maps::{MAPS, Maps};
use super::shard;
use super::table::Table;
use crate::error::{Error, Kind, Result};
use crate::format::checksum;
use crate::format::manifest::Manifest;

/// The metadata's file.
pub(crate) const METADATA: &str = "metadata.arrow";

/// A published cache, open for reading. Clones are the same handle.
///
/// Any thread may use it. It holds no lock that a fork could leave locked: what is opened lazily is published by
/// one compare-and-swap, and whoever loses the race drops what it opened.
#[derive(Clone)]
pub struct Cache(Arc<Shared>);

struct Shared {
    path: Arc<str>,
    manifest: Manifest,
    locator: Locator,
    verify: bool,
    access: Access,
    /// None once closed. A read that is under way keeps what it uses.
    files: ArcSwapOption<Files>,
}

/// Everything of a cache that must be given back to the operating system.
pub(super) struct Files {
    pub(super) directory: Arc<Directory>,
    pub(super) fields: Vec<FieldFiles>,
    pub(super) maps: &'static Maps,
    table: OnceBox<Arc<Table>>,
}

impl Cache {
    /// Opens the cache in directory `path`, its files to be mapped, as [`Cache::open_by`] does.
    pub fn open(path: &Path, verify: bool) -> Result<Self> {
        Self::open_by(path, verify, Io::Mmap)
    }

    /// Opens the cache in directory `path`: reads its manifest (R000 to R021) and checks that every file is there, with
    /// its length (R030). Where it is replaced meanwhile, the new one is opened. Nothing else is opened before it is
    /// needed. `verify` false leaves out the checksums of records (R033) later on, and nothing else.
    ///
    /// A published cache never changes. Where that, or the disk, cannot be relied on, [`Io`] matters: a file that is
    /// truncated while it is mapped ends the process with SIGBUS when the missing part is read; by `pread` it is an
    /// error (R030).
    pub fn open_by(path: &Path, verify: bool, io: Io) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        Self::open_named(path, &name, verify, io, &MAPS).map_err(|error| error.in_cache(&name))
    }

    /// The same, its files to be mapped as far as there are maps.
    pub(super) fn open_named(path: &Path, name: &Arc<str>, verify: bool, io: Io, maps: &'static Maps) -> Result<Self> {
        checksum::prepare();
        let (directory, manifest) = Directory::look(path, |directory| {
            let manifest = Manifest::parse(&directory.manifest()?)?;
            check_files(directory, &manifest)?;
            Ok(manifest)
        })?;
        let locator = Locator::new(&manifest.shards)?;
        let fields = manifest.fields.iter().map(|entry| FieldFiles::new(entry.files.len())).collect::<Result<_>>()?;
        let access = io.of(&directory);
        let files = Arc::new(Files { directory: directory.into(), fields, maps, table: OnceBox::new() });
        let (path, files) = (name.clone(), ArcSwapOption::new(Some(files)));
        Ok(Self(Arc::new(Shared { path, manifest, locator, verify, access, files })))
    }

    /// The path it was opened by, for messages.
    pub fn path(&self) -> &Arc<str> {
        &self.0.path
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.0.manifest
    }

    /// Its number in tables of samples: `cache_id`.
    pub fn id(&self) -> i64 {
        self.0.manifest.cache_id()
    }

    /// Number of samples.
    pub fn len(&self) -> u64 {
        self.0.manifest.samples
    }

    /// Whether it has no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether checksums of records are compared.
    pub fn verify(&self) -> bool {
        self.0.verify
    }

    /// How its files are read.
    pub fn access(&self) -> Access {
        self.0.access
    }

    /// The metadata, one row per sample; its outline is read and checked if it was not yet (R030, R041, R042, R045).
    pub fn table(&self) -> Result<Arc<Table>> {
        let files = self.files()?;
        let open = || Table::open(&files.directory, self.access(), files.maps, self.manifest(), self.path());
        let open = || open().map(Arc::new).map(Box::new);
        let placed = |error: Error| error.while_reading().in_cache(self.path());
        Ok(files.table.get_or_try_init(open).map_err(placed)?.clone())
    }

    /// Gives open files and mappings back, as soon as the reads and views that use them end. Every later read is an error
    /// of [`Kind::State`]; what is known from the manifest stays known.
    pub fn close(&self) {
        self.0.files.store(None);
    }

    pub(super) fn files(&self) -> Result<Arc<Files>> {
        let closed =
            || Error::new(Kind::State, "the cache is closed; open it again to read from it").in_cache(self.path());
        self.0.files.load_full().ok_or_else(closed)
    }

    pub(super) fn locator(&self) -> &Locator {
        &self.0.locator
    }

    pub(super) fn field(&self, field: usize) -> Result<FieldReader> {
        FieldReader::new(self.clone(), field)
    }
}

/// R030 of every file.
fn check_files(directory: &Directory, manifest: &Manifest) -> Result<()> {
    for entry in &manifest.fields {
        let field = &entry.field;
        if let Some(dictionary) = &entry.dictionary {
            let name = dictionary_name(field);
            directory.check(&name, dictionary.bytes).map_err(|e| e.in_field(&field.name))?;
        }
        for (number, file) in (0..).zip(&entry.files) {
            let name = shard::file_name(field, number);
            directory.check(&name, file.bytes).map_err(|e| e.in_field(&field.name).in_shard(number))?;
        }
    }
    match &manifest.metadata {
        Some(metadata) => directory.check(METADATA, metadata.bytes),
        None => Ok(()),
    }
}
