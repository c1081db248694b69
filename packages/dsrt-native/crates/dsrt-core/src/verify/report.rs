//! Problems in order, at most a thousand of each rule.

use std::collections::BTreeMap;
use std::fmt;

use super::problem::{Place, Problem};
use crate::error::{Error, Result};

/// The most problems of one rule that are listed.
const MOST: u64 = 1000;

/// Problems of one job, or of all.
#[derive(Default)]
pub(super) struct Report {
    listed: Vec<Problem>,
    /// Of each rule how many there are, listed or not.
    counts: BTreeMap<u16, u64>,
}

impl Report {
    /// Lists a problem, or counts it.
    pub(super) fn add(&mut self, rule: u16, place: &Place, message: fmt::Arguments<'_>) {
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count <= MOST {
            self.listed.push(Problem { rule, place: place.clone(), message: message.to_string() });
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
        let Some(rule) = error.rule_number() else { return Err(error) };
        self.add(rule, place, format_args!("{}", error.message()));
        Ok(())
    }

    /// Whether there is no problem.
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn sort_by_rule(&mut self) {
        self.listed.sort_by_key(|problem| problem.rule);
    }

    /// Adds what comes after.
    pub(super) fn append(&mut self, later: Report) {
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
            if let Some(more @ 1..) = count.checked_sub(MOST) {
                problems.push(Problem {
                    rule,
                    place: Place::default(),
                    message: format!("{more} more are not listed"),
                });
            }
        }
        problems
    }
}

/// Reports of jobs that end in any order, put together in the order of their numbers.
pub(super) struct Merge {
    whole: Report,
    next: usize,
    waiting: BTreeMap<usize, Report>,
}

impl Merge {
    /// After what is known already.
    pub(super) fn new(whole: Report) -> Self {
        Self { whole, next: 0, waiting: BTreeMap::new() }
    }

    /// Takes the report of job `number`.
    pub(super) fn give(&mut self, number: usize, report: Report) {
        self.waiting.insert(number, report);
        while let Some(report) = self.waiting.remove(&self.next) {
            self.whole.append(report);
            self.next += 1;
        }
    }

    pub(super) fn into_problems(mut self) -> Vec<Problem> {
        // None waits once all have come.
        for report in self.waiting.into_values() {
            self.whole.append(report);
        }
        self.whole.into_problems()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rule: u16, samples: std::ops::Range<u64>) -> Report {
        let mut report = Report::default();
        for sample in samples {
            report.add(rule, &Place { sample: Some(sample), ..Place::default() }, format_args!("wrong"));
        }
        report
    }

    #[test]
    fn of_each_rule_the_first_thousand_are_listed_and_the_rest_is_counted() {
        let mut merge = Merge::new(report(33, 0..2));
        merge.give(2, report(33, 900..2900));
        merge.give(0, report(34, 0..1000));
        merge.give(1, report(33, 2..900));
        let problems = merge.into_problems();
        assert_eq!(problems.len(), 2001);
        let of = |rule| problems.iter().filter(move |p| p.rule == rule && p.place.sample.is_some());
        assert!(of(33).map(|p| p.place.sample.unwrap()).eq(0..1000));
        assert_eq!(of(34).count(), 1000);
        assert_eq!(problems[2000].message, "1900 more are not listed");
        assert_eq!((problems[2000].rule, &problems[2000].place), (33, &Place::default()));
    }

    #[test]
    fn an_error_that_breaks_no_rule_is_handed_back() {
        let mut report = Report::default();
        let io = Error::io("cannot read x", std::io::Error::from_raw_os_error(5));
        assert_eq!(report.found(io).unwrap_err().os_code(), Some(5));
        assert!(report.is_empty());
    }
}
