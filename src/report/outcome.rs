//! What became of a test, and the counts.
//!
//! In: Playwright's words for a test and its attempts. Out: one of six outcomes, and how many tests had each. The rules
//! count as Playwright's own summary does; `spec.ok` is never asked: it is that of the first project only.

use crate::report::{AttemptStatus, TestCase};

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was expected: it passed, or failed where that was expected.
    Passed,
    /// It did not do what was expected, in no attempt; also one that was expected to fail, and passed.
    Failed,
    /// It failed, and passed when tried again.
    Flaky,
    /// It was skipped on purpose.
    Skipped,
    /// It should have run and was not started: the run was cut, a hook or a project before it failed.
    DidNotRun,
    /// It was running when the run was stopped.
    Interrupted,
}

impl Outcome {
    /// Judges a test by Playwright's word for it (`tests[].status`), what was expected, and how its attempts ended.
    ///
    /// A word that is missing or unknown is worked out from the attempts; what is not known to have passed has failed.
    pub fn judge(word: &str, expected: &AttemptStatus, attempts: &[&AttemptStatus]) -> Self {
        match word {
            "expected" => Self::Passed,
            "unexpected" => Self::Failed,
            "flaky" => Self::Flaky,
            "skipped" => Self::unfinished(expected, attempts),
            _ => Self::work_out(expected, attempts),
        }
    }

    /// Splits what Playwright calls skipped, as its list reporter does.
    fn unfinished(expected: &AttemptStatus, attempts: &[&AttemptStatus]) -> Self {
        if attempts.contains(&&AttemptStatus::Interrupted) {
            Self::Interrupted
        } else if attempts.is_empty() || *expected != AttemptStatus::Skipped {
            Self::DidNotRun
        } else {
            Self::Skipped
        }
    }

    /// Works an outcome out as Playwright's `TestCase.outcome()` does.
    fn work_out(expected: &AttemptStatus, attempts: &[&AttemptStatus]) -> Self {
        let ran = || {
            attempts
                .iter()
                .filter(|status| !matches!(status, AttemptStatus::Skipped | AttemptStatus::Interrupted))
        };
        if ran().next().is_none() {
            Self::unfinished(expected, attempts)
        } else if ran().all(|status| *status == expected) {
            Self::Passed
        } else if ran().any(|status| *status == expected) {
            Self::Flaky
        } else {
            Self::Failed
        }
    }

    /// Tells whether a test of this outcome has failures worth telling.
    pub fn has_failures(self) -> bool {
        match self {
            Self::Failed | Self::Flaky | Self::Interrupted => true,
            Self::Passed | Self::Skipped | Self::DidNotRun => false,
        }
    }
}

/// How many tests had which outcome; a test counts once in each project and repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// All of them.
    pub total: u64,
    /// [`Outcome::Passed`].
    pub passed: u64,
    /// [`Outcome::Failed`].
    pub failed: u64,
    /// [`Outcome::Flaky`].
    pub flaky: u64,
    /// [`Outcome::Skipped`].
    pub skipped: u64,
    /// [`Outcome::DidNotRun`].
    pub did_not_run: u64,
    /// [`Outcome::Interrupted`].
    pub interrupted: u64,
}

impl Stats {
    /// Counts tests.
    pub fn count(tests: &[TestCase]) -> Self {
        let mut stats = Self::default();
        for test in tests {
            stats.add(test.outcome);
        }
        stats
    }

    /// Counts one more test.
    pub fn add(&mut self, outcome: Outcome) {
        self.total += 1;
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Flaky => self.flaky += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::DidNotRun => self.did_not_run += 1,
            Outcome::Interrupted => self.interrupted += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AttemptStatus::{Failed, Interrupted, Other, Passed, Skipped, TimedOut};

    #[test]
    fn a_test_is_judged_as_playwrights_own_summary_does() {
        for (rule, word, expected, attempts, outcome) in [
            ("passed", "expected", Passed, &[Passed][..], Outcome::Passed),
            ("failed as expected", "expected", Failed, &[Failed], Outcome::Passed),
            ("passed against expectation", "unexpected", Failed, &[Passed], Outcome::Failed),
            ("flaky", "flaky", Passed, &[Failed, Passed], Outcome::Flaky),
            ("skipped on purpose", "skipped", Skipped, &[Skipped], Outcome::Skipped),
            ("after a failed beforeAll", "skipped", Passed, &[Skipped], Outcome::DidNotRun),
            ("never started", "skipped", Passed, &[], Outcome::DidNotRun),
            ("never started, to be skipped", "skipped", Skipped, &[], Outcome::DidNotRun),
            ("stopped", "skipped", Passed, &[Interrupted], Outcome::Interrupted),
            ("unknown word, passed", "new", Passed, &[Passed], Outcome::Passed),
            ("unknown word, flaky", "new", Passed, &[TimedOut, Passed], Outcome::Flaky),
            ("unknown word, failed", "", Passed, &[TimedOut], Outcome::Failed),
            ("unknown word, skipped", "", Skipped, &[Skipped], Outcome::Skipped),
            ("unknown word, stopped", "", Passed, &[Interrupted], Outcome::Interrupted),
            ("unknown word and status", "", Passed, &[Other("new".to_owned())], Outcome::Failed),
        ] {
            let attempts: Vec<_> = attempts.iter().collect();
            assert_eq!(Outcome::judge(word, &expected, &attempts), outcome, "{rule}");
        }
    }
}
