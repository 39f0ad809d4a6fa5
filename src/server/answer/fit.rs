//! Answers within their bound.
//!
//! In: a way to build an answer under given caps. Out: the richest one whose JSON fits.

use serde::Serialize;

/// How much of each part an answer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of an error message.
    pub message: usize,
    /// Bytes of a code line, a title, a path.
    pub line: usize,
    /// Bytes of a test's output.
    pub output: usize,
    /// Tests told in full; the others get a line each.
    pub full: usize,
    /// Tests told at all.
    pub tests: usize,
    /// Further errors of one test.
    pub errors: usize,
}

/// From the richest to the poorest; each step gives up what an agent misses least.
const STEPS: [Caps; 6] = [
    Caps { message: 1_500, line: 300, output: 500, full: 10, tests: 100, errors: 10 },
    Caps { message: 900, line: 200, output: 250, full: 10, tests: 60, errors: 5 },
    Caps { message: 500, line: 160, output: 0, full: 8, tests: 40, errors: 2 },
    Caps { message: 250, line: 120, output: 0, full: 4, tests: 20, errors: 1 },
    Caps { message: 120, line: 80, output: 0, full: 1, tests: 5, errors: 0 },
    Caps { message: 80, line: 60, output: 0, full: 0, tests: 0, errors: 0 },
];

/// The compact JSON of the richest answer that has at most `bound` bytes, else of the poorest.
pub fn within<A: Serialize>(bound: usize, build: impl Fn(Caps) -> A) -> String {
    let mut text = String::new();
    for caps in STEPS {
        text = serde_json::to_string(&build(caps)).unwrap_or_default();
        if text.len() <= bound {
            break;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_richest_answer_that_fits_is_taken() {
        let build = |caps: Caps| "x".repeat(caps.message);
        assert_eq!(within(2_000, build).len(), 1_502);
        assert_eq!(within(1_000, build).len(), 902);
        assert_eq!(within(10, build).len(), 82);
    }
}
