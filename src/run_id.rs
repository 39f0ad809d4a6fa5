//! The name of a run, as answers print it and calls give it back.
//!
//! In: random bytes, or a text. Out: a `RunId`. Which runs there are is left to `runner::tracker`.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Names a run: 128 random bits, so that it can't be guessed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(u128);

impl RunId {
    /// Draws a new id from the kernel.
    ///
    /// # Errors
    /// [`NoRandomBytes`] when the kernel gives none.
    pub fn draw() -> Result<Self, NoRandomBytes> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(NoRandomBytes)?;
        Ok(Self(u128::from_ne_bytes(bytes)))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "r{:032x}", self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// The kernel gives no random bytes.
#[derive(Debug, Error)]
#[error("no random bytes for a run id")]
pub struct NoRandomBytes(#[source] getrandom::Error);

/// A text that is no run id.
#[derive(Debug, Error)]
#[error("no run id: an answer of run_tests gives it as `runId`, `r` and 32 digits")]
pub struct NoRunId;

impl FromStr for RunId {
    type Err = NoRunId;

    fn from_str(text: &str) -> Result<Self, NoRunId> {
        let digits = text.strip_prefix('r').filter(|digits| digits.len() == 32).ok_or(NoRunId)?;
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
        let number = u128::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
        number.map(Self).ok_or(NoRunId)
    }
}

#[cfg(test)]
mod tests {
    use super::RunId;

    #[test]
    fn a_run_id_is_read_as_printed_and_nothing_else_is() {
        let run = RunId::draw().unwrap();
        assert_eq!(run.to_string().parse::<RunId>().unwrap(), run);
        for wrong in [
            "",
            "r",
            "r12",
            &run.to_string().to_uppercase(),
            run.to_string().trim_start_matches('r'),
            "r+0000000000000000000000000000000",
        ] {
            assert!(wrong.parse::<RunId>().is_err(), "{wrong:?}");
        }
    }
}
