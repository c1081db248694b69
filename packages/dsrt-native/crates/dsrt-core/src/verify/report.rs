//! Problems in order, at most a thousand of each rule.

use std::collections::BTreeMap;
use std::fmt;

use super::control::Meter;
use super::problem::{Findings, Place, Problem, Unread};
use crate::error::{Error, Result};

/// The most problems of one rule that are listed.
pub(super) const MOST: u64 = 1000;

/// Problems of one job, or of all.
#[derive(Default)]
pub(super) struct Report {
    listed: Vec<Problem>,
    /// Of each rule how many there are, listed or not.
    counts: BTreeMap<u16, u64>,
    unread: Vec<Unread>,
}

impl Report {
    /// Lists a problem, or counts it.
    pub(super) fn add(&mut self, rule: u16, place: &Place, message: fmt::Arguments<'_>) {
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count <= MOST {
            let (place, message) = (place.clone(), message.to_string());
            self.listed.push(Problem { rule, place, message, unlisted: 0 });
        }
    }

    /// Counts more problems of a rule of which as many are listed as there may be.
    pub(super) fn count(&mut self, rule: u16, more: u64) {
        if more > 0 {
            *self.counts.entry(rule).or_default() += more;
        }
    }

    /// Lists an error that breaks a rule, at its own place. Any other error is the caller's.
    pub(super) fn found(&mut self, error: Error) -> Result<()> {
        let place = error.place();
        let place = Place { field: place.field.clone(), shard: place.shard, sample: place.sample };
        self.found_at(error, &place)
    }

    /// The same, at a place that is known better.
    pub(super) fn found_at(&mut self, error: Error, place: &Place) -> Result<()> {
        let Some(rule) = error.rule_number() else { return Err(place.of(error)) };
        self.add(rule, place, format_args!("{}", error.message()));
        Ok(())
    }

    /// The same, of the error that ended a file. Where the operating system refused it, the file is noted as unread.
    pub(super) fn ended(&mut self, error: Error, place: &Place, meter: &mut Meter) -> Result<()> {
        let (Some(file), Some(code)) = (error.file(), error.os_code()) else { return self.found_at(error, place) };
        meter.give_up();
        self.unread.push(Unread { file: file.to_owned(), code });
        Ok(())
    }

    /// Leaves out the problems, and not what was unread.
    pub(super) fn without_problems(self) -> Self {
        Self { unread: self.unread, ..Self::default() }
    }

    /// Whether there is no problem.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn sort_by_rule(&mut self) {
        self.listed.sort_by_key(|problem| problem.rule);
    }

    /// Adds what comes after.
    pub(super) fn append(&mut self, mut later: Report) {
        self.unread.append(&mut later.unread);
        let mut before = self.counts.clone();
        for problem in later.listed {
            let count = before.entry(problem.rule).or_default();
            *count += 1;
            if *count <= MOST {
                self.listed.push(problem);
            }
        }
        for (rule, count) in later.counts {
            *self.counts.entry(rule).or_default() += count;
        }
    }

    /// All that is listed; last, for each rule of which there are more, how many.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.listed;
        for (rule, count) in self.counts {
            if let Some(unlisted @ 1..) = count.checked_sub(MOST) {
                let message = format!("{unlisted} more are not listed");
                problems.push(Problem { rule, place: Place::default(), message, unlisted });
            }
        }
        problems
    }
}

/// Reports of jobs that end in any order, put together in the order of their numbers. However many jobs there are, and
/// however long the first of them takes, no more is kept than is listed in the end.
#[derive(Default)]
pub(super) struct Merge {
    /// Of each rule the first problems, by job and place in its report.
    first: BTreeMap<u16, BTreeMap<(usize, usize), Problem>>,
    counts: BTreeMap<u16, u64>,
    unread: BTreeMap<usize, Vec<Unread>>,
}

impl Merge {
    /// Takes the report of job `number`.
    pub(super) fn give(&mut self, number: usize, report: Report) {
        if !report.unread.is_empty() {
            self.unread.insert(number, report.unread);
        }
        for (place, problem) in report.listed.into_iter().enumerate() {
            let first = self.first.entry(problem.rule).or_default();
            first.insert((number, place), problem);
            if first.len() as u64 > MOST {
                first.pop_last();
            }
        }
        for (rule, count) in report.counts {
            *self.counts.entry(rule).or_default() += count;
        }
    }

    pub(super) fn into_findings(self) -> Findings {
        let mut ordered: Vec<_> = self.first.into_values().flatten().collect();
        ordered.sort_unstable_by_key(|(place, _)| *place);
        let listed = ordered.into_iter().map(|(_, problem)| problem).collect();
        let problems = Report { listed, counts: self.counts, ..Report::default() }.into_problems();
        Findings { problems, unread: self.unread.into_values().flatten().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Control;
    use super::*;
    use crate::error::Kind;

    fn report(rule: u16, samples: std::ops::Range<u64>) -> Report {
        let mut report = Report::default();
        for sample in samples {
            report.add(rule, &Place { sample: Some(sample), ..Place::default() }, format_args!("wrong"));
        }
        report
    }

    #[test]
    fn of_each_rule_the_first_thousand_are_listed_and_the_rest_is_counted() {
        let mut merge = Merge::default();
        merge.give(3, report(33, 900..2900));
        merge.give(1, report(34, 0..1000));
        merge.give(4, report(33, 2900..3000));
        merge.give(2, report(33, 2..900));
        merge.give(0, report(33, 0..2));
        let problems = merge.into_findings().problems;
        assert_eq!(problems.len(), 2001);
        let of = |rule| problems.iter().filter(move |p| p.rule == rule && p.place.sample.is_some());
        assert!(of(33).map(|p| p.place.sample.unwrap()).eq(0..1000));
        assert_eq!(of(34).count(), 1000);
        assert_eq!((&*problems[2000].message, problems[2000].unlisted), ("2000 more are not listed", 2000));
        assert!(problems[..2000].iter().all(|problem| problem.unlisted == 0));
        assert_eq!((problems[1].rule, problems[2].rule, problems[1002].rule), (33, 34, 33));
        assert_eq!((problems[2000].rule, &problems[2000].place), (33, &Place::default()));
    }

    #[test]
    fn while_jobs_are_out_no_more_is_kept_than_is_listed() {
        let mut merge = Merge::default();
        for number in (0..50).rev() {
            merge.give(number, report(33, 0..1000));
            assert_eq!(merge.first[&33].len(), 1000);
        }
        assert_eq!(merge.first[&33].last_key_value().unwrap().0, &(0, 999));
    }

    #[test]
    fn a_file_that_the_system_refuses_is_noted_in_the_order_of_the_jobs_and_what_was_found_is_kept() {
        let control = Control::new(None);
        let place = Place::default();
        let mut merge = Merge::default();
        for number in [2, 1] {
            let mut job = report(33, 0..number);
            let refused = std::io::Error::from_raw_os_error(5);
            let refused = Error::io_of("cannot read", &format!("file {number}"), refused);
            job.ended(refused, &place, &mut Meter::new(&control, 100)).unwrap();
            job.ended(Error::rule(Kind::Format, 30, "cut"), &place, &mut Meter::new(&control, 10)).unwrap();
            merge.give(number as usize, job);
        }
        let ended = Report::default().ended(Error::new(Kind::State, "no"), &place, &mut Meter::new(&control, 0));
        assert_eq!(ended.unwrap_err().kind(), Kind::State);
        let found = merge.into_findings();
        let unread: Vec<_> = found.unread.iter().map(|unread| (&*unread.file, unread.code)).collect();
        assert_eq!(unread, [("file 1", 5), ("file 2", 5)]);
        assert_eq!(found.problems.iter().map(|problem| problem.rule).collect::<Vec<_>>(), [33, 30, 33, 33, 30]);
        assert_eq!(control.done(), 20);
    }

    #[test]
    fn an_error_of_memory_is_handed_back_with_its_place() {
        let place = Place { field: Some("x".into()), shard: Some(1), sample: Some(7) };
        let found = |kind| Report::default().found_at(Error::new(kind, "no"), &place).unwrap_err().to_string();
        assert_eq!(found(Kind::Memory), "field x, shard 1, sample 7: no");
        assert_eq!(found(Kind::State), "no");
    }

    #[test]
    fn an_error_that_breaks_no_rule_is_handed_back() {
        let mut report = Report::default();
        let io = Error::io("cannot read x", std::io::Error::from_raw_os_error(5));
        assert_eq!(report.found(io).unwrap_err().os_code(), Some(5));
        assert!(report.is_empty());
    }
}
