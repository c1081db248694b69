//! One run over the files of a cache whose manifest could be read.

use std::sync::OnceLock;

use super::control::Control;
use super::dictionary::Decoder;
use super::engine::{self, Scratch};
use super::plan::{Job, Plan};
use super::problem::Findings;
use super::report::{Merge, Report};
use super::{Options, Result};
use crate::format::manifest::Inventory;
use crate::read::Directory;

/// Lists what is wrong with the files that `inventory` lists, after `listed`, which is wrong with the manifest.
pub(super) fn run(
    directory: &Directory,
    inventory: &Inventory,
    listed: Report,
    options: &Options,
    watch: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<Findings> {
    let plan = Plan::new(directory, inventory, options.level, options.part);
    let total = plan.bytes();
    let control = Control::new(options.rate);
    let run = Run { plan, control, decoders: inventory.fields.iter().map(|_| OnceLock::new()).collect() };
    let mut merge = Merge::default();
    if options.part.is_first() {
        merge.give(0, listed);
    }
    let mut look = || watch(run.control.done().min(total), total);
    look()?;
    // Dictionaries first, because shards need them.
    for slots in [run.plan.dictionaries(), run.plan.others()] {
        engine::run(
            &slots,
            options.threads,
            &run.control,
            &mut look,
            |slot, scratch| run.check(slot, scratch),
            |slot, report| merge.give(slot + 1, report),
        )?;
    }
    let found = merge.into_findings();
    // What could not be read is not done at the end, either.
    watch(if found.unread.is_empty() { total } else { run.control.done().min(total) }, total)?;
    Ok(found)
}

/// What the threads of a run share.
struct Run<'a> {
    plan: Plan<'a>,
    control: Control,
    /// Of each field that has a dictionary, once that was read.
    decoders: Vec<OnceLock<Decoder>>,
}

impl Run<'_> {
    /// Does one job.
    fn check(&self, slot: usize, scratch: &mut Scratch) -> Result<Report> {
        let mut report = Report::default();
        match self.plan.job(slot) {
            Some(Job::Dictionary(job)) => {
                let decoder = job.check(&self.control, &mut report)?;
                if let Some(slot) = self.decoders.get(job.number) {
                    slot.get_or_init(|| decoder);
                }
            }
            Some(Job::Shard(job)) => {
                let decoder = self.decoders.get(job.field).and_then(OnceLock::get);
                job.check(decoder, &self.control, scratch, &mut report)?;
            }
            Some(Job::Metadata(job)) => job.check(&self.control, &mut report)?,
            Some(Job::Unknown(job)) => job.check(&self.control, &mut report)?,
            None => {}
        }
        Ok(report)
    }
}
