//! Ids as short as they can be.
//!
//! In: the tests of a report. Out: for each id the shortest prefix that no other id has.

use std::collections::HashMap;
use std::sync::Arc;

use crate::report::TestCase;

/// The shortest prefix that is given, in bytes.
pub const MIN_ID_BYTES: usize = 8;

/// Gives for each id its shortest prefix, of at least [`MIN_ID_BYTES`], that no other id among `tests` starts with.
///
/// Tests of several projects or repetitions that share an id share its prefix. Playwright's ids start with a hash of the
/// file (20 characters and a dash), so tests of one file differ only after that.
pub fn short_ids(tests: &[TestCase]) -> HashMap<Arc<str>, &str> {
    let mut ids: Vec<&Arc<str>> = tests.iter().map(|test| &test.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut shortest = HashMap::with_capacity(ids.len());
    let mut shared_with_previous = 0;
    for (index, id) in ids.iter().enumerate() {
        let shared_with_next = ids.get(index + 1).map_or(0, |next| shared_bytes(id, next));
        let needed = shared_with_previous.max(shared_with_next) + 1;
        let prefix = (needed.max(MIN_ID_BYTES)..id.len()).find_map(|end| id.get(..end));
        shortest.insert(Arc::clone(id), prefix.unwrap_or(id));
        shared_with_previous = shared_with_next;
    }
    shortest
}

fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::AttemptStatus;
    use crate::report::outcome::Outcome;

    fn test_case(id: &str) -> TestCase {
        TestCase {
            id: id.into(),
            describes: Arc::default(),
            title: "t".into(),
            file: "a.spec.ts".into(),
            line: 1,
            column: 1,
            project: "".into(),
            repeat: 0,
            tags: Arc::default(),
            annotations: Vec::new(),
            expected: AttemptStatus::Passed,
            outcome: Outcome::Passed,
            attempts: Vec::new(),
        }
    }

    #[test]
    fn a_short_id_is_the_shortest_unique_prefix_of_eight_or_more() {
        for (rule, ids, expected) in [
            ("different from the start", &["aaaaaaaaaa", "bbbbbbbbbb"][..], &["aaaaaaaa", "bbbbbbbb"][..]),
            ("different late", &["aaaaaaaaaa1x", "aaaaaaaaaa2x"], &["aaaaaaaaaa1", "aaaaaaaaaa2"]),
            ("one starts with another", &["aaaaaaaaaa", "aaaaaaaaaaaa"], &["aaaaaaaaaa", "aaaaaaaaaaa"]),
            ("the same id twice", &["aaaaaaaaaa", "aaaaaaaaaa"], &["aaaaaaaa", "aaaaaaaa"]),
            ("shorter than eight", &["abc", ""], &["abc", ""]),
            ("not of one-byte characters", &["ääääää1", "ääääää2"], &["ääääää1", "ääääää2"]),
        ] {
            let tests: Vec<_> = ids.iter().map(|id| test_case(id)).collect();
            let short = short_ids(&tests);
            let found: Vec<_> = tests.iter().map(|test| short[&test.id]).collect();
            assert_eq!(found, expected, "{rule}");
        }
    }
}
