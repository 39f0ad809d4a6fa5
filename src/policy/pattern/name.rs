//! Names of environment variables and of Playwright projects, and patterns for them.
//!
//! In: text. Out: [`EnvName`], a name that a call may hold, and [`NamePattern`], an entry of a list. What no entry can
//! allow is left to `denylist`.

use std::fmt;

use crate::policy::pattern::{PatternError, Syntax};

/// A POSIX name of an environment variable: `[A-Za-z_][A-Za-z0-9_]*`, at most 128 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvName(String);

impl EnvName {
    /// The longest name, in characters.
    pub const MAX_LENGTH: usize = 128;

    /// Parses a name.
    ///
    /// # Errors
    /// [`PatternError::EnvName`] where it is no POSIX name.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let starts_well = text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
        let goes_on_well = text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        if starts_well && goes_on_well && text.len() <= Self::MAX_LENGTH {
            Ok(Self(text.to_owned()))
        } else {
            Err(PatternError::EnvName(text.to_owned()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Whether capitals and small letters are the same.
///
/// In doubt the stricter: lists that allow a variable compare exactly, lists that take one away do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They differ.
    Sensitive,
    /// ASCII letters are the same.
    Insensitive,
}

/// A name with wildcards: `*` is any number of characters, `?` is one; all else is taken as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    written: String,
    case: Case,
}

impl NamePattern {
    /// Parses a pattern of names of environment variables.
    ///
    /// # Errors
    /// [`PatternError`] where it is empty or holds a character that no POSIX name has.
    pub fn parse_env(text: &str, syntax: Syntax, case: Case) -> Result<Self, PatternError> {
        let allowed = |byte: u8| match syntax {
            Syntax::Wildcards => byte == b'_' || byte.is_ascii_alphanumeric() || byte == b'*' || byte == b'?',
            Syntax::Literal => byte == b'_' || byte.is_ascii_alphanumeric(),
        };
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let bad = text.len() > EnvName::MAX_LENGTH
            || text.starts_with(|first: char| first.is_ascii_digit())
            || !text.bytes().all(allowed);
        if bad {
            Err(PatternError::EnvName(text.to_owned()))
        } else {
            Ok(Self { written: text.to_owned(), case })
        }
    }

    /// Parses a pattern of names of Playwright projects, which Playwright compares without regard to case.
    ///
    /// # Errors
    /// [`PatternError`] where it is empty or holds a control character.
    pub fn parse_project(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(PatternError::ControlCharacter(text.to_owned()));
        }
        Ok(Self { written: text.to_owned(), case: Case::Insensitive })
    }

    /// Says whether a whole name fits.
    pub fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.written.chars().collect();
        let name: Vec<char> = name.chars().collect();
        fits(&pattern, &name, self.case)
    }

    /// Says whether every name that fits another pattern certainly fits this one.
    pub fn covers(&self, other: &Self) -> bool {
        // Of its wildcards only `*` takes whatever a wildcard of the other stands for.
        let takes_wildcards = !self.written.contains('?');
        self == other || (self.matches(&other.written) && (takes_wildcards || other.literal().is_some()))
    }

    /// The name, where the pattern has no wildcards.
    pub fn literal(&self) -> Option<&str> {
        (!self.written.contains(['*', '?'])).then_some(self.written.as_str())
    }

    /// What every name that fits starts with.
    pub fn fixed_part(&self) -> &str {
        self.written.split(['*', '?']).next().unwrap_or_default()
    }

    /// Says whether every name fits.
    pub fn is_everything(&self) -> bool {
        self.written.bytes().all(|byte| byte == b'*')
    }

    /// Says whether every name fits that is not made of odd characters alone, as with `*`, `?*` or `*_*`.
    pub fn fits_most_names(&self) -> bool {
        self.written.starts_with(['*', '?'])
            && self.written.contains('*')
            && self.written.bytes().all(|byte| matches!(byte, b'*' | b'?' | b'_'))
    }

    /// Says whether a name may fit both patterns; in doubt it may.
    pub fn may_overlap(&self, other: &Self) -> bool {
        match (self.literal(), other.literal()) {
            (_, Some(name)) => self.matches(name),
            (Some(name), None) => other.matches(name),
            (None, None) => {
                let one = self.fixed_part().to_ascii_lowercase();
                let two = other.fixed_part().to_ascii_lowercase();
                one.starts_with(&two) || two.starts_with(&one)
            }
        }
    }

    /// What every name that fits holds, piece by piece.
    pub fn fixed_parts(&self) -> impl Iterator<Item = &str> {
        self.written.split(['*', '?']).filter(|part| !part.is_empty())
    }

    /// The pattern as it was written.
    pub fn as_written(&self) -> &str {
        &self.written
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.written)
    }
}

/// Compares with one step of memory: the last star and how much it took. Never more than `pattern * name` steps.
fn fits(pattern: &[char], name: &[char], case: Case) -> bool {
    let same = |a: char, b: char| match case {
        Case::Sensitive => a == b,
        Case::Insensitive => a.eq_ignore_ascii_case(&b),
    };
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(&character) = name.get(in_name) {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some('?') => {
                at += 1;
                in_name += 1;
            }
            Some(&wanted) if same(wanted, character) => {
                at += 1;
                in_name += 1;
            }
            Some(_) | None => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    in_name = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|left| *left == '*'))
}

#[cfg(test)]
mod tests {
    use super::{Case, EnvName, NamePattern};
    use crate::policy::pattern::Syntax;

    #[test]
    fn only_posix_names_are_names() {
        for name in ["A", "_", "base_url", "X1"] {
            assert_eq!(EnvName::parse(name).unwrap().as_str(), name);
        }
        let long = "A".repeat(129);
        for name in ["", "1A", "A=B", "A B", "\u{ff21}", "É", "A\0", "A-B", "*", long.as_str()] {
            assert!(EnvName::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn pattern_fits_whole_names() {
        let rows = [
            ("exact", "BASE_URL", "BASE_URL", true),
            ("no part", "BASE", "BASE_URL", false),
            ("star at the end", "TEST_*", "TEST_X", true),
            ("star may be empty", "TEST_*", "TEST_", true),
            ("star in the middle", "*_TOKEN_*", "A_TOKEN_B", true),
            ("stars that go back", "*AB*C", "AABABXC", true),
            ("question mark is one", "A?", "AB", true),
            ("question mark is not none", "A?", "A", false),
            ("case counts", "test_*", "TEST_X", false),
            ("everything", "*", "ANY", true),
            ("leftover pattern", "AB*C", "AB", false),
        ];
        for (name, pattern, text, expected) in rows {
            let pattern = NamePattern::parse_env(pattern, Syntax::Wildcards, Case::Sensitive).unwrap();
            assert_eq!(pattern.matches(text), expected, "{name}");
        }
    }

    #[test]
    fn patterns_are_compared_with_each_other() {
        let rows = [
            ("the same name", "A", "A", true, true),
            ("two names", "A", "B", false, false),
            ("a name and its pattern", "TEST_*", "TEST_X", true, true),
            ("a wider and a narrower start", "TEST_*", "TEST_X*", true, true),
            ("a narrower and a wider start", "TEST_X*", "TEST_*", true, false),
            ("two starts", "TEST_*", "E2E_*", false, false),
            ("ends are not compared", "*_URL", "TEST_*", true, false),
            ("everything", "*", "*_URL", true, true),
            ("a start and what is within it", "A*", "A*B", true, true),
            ("a start and one character", "A*", "A?", true, true),
            ("one character and any", "A?", "A*", true, false),
            ("the same pattern", "A?", "A?", true, true),
            ("two characters and any", "??", "A*", true, false),
        ];
        for (name, one, two, overlap, covers) in rows {
            let [one, two] =
                [one, two].map(|it| NamePattern::parse_env(it, Syntax::Wildcards, Case::Sensitive).unwrap());
            assert_eq!(one.may_overlap(&two), overlap, "{name}");
            assert_eq!(two.may_overlap(&one), overlap, "{name}, turned");
            assert_eq!(one.covers(&two), covers, "{name}");
        }
    }

    #[test]
    fn project_names_are_compared_as_playwright_does() {
        let pattern = NamePattern::parse_project("Mobile *").unwrap();
        assert!(pattern.matches("mobile chrome"));
        assert!(!pattern.matches("Desktop Chrome"));
    }

    #[test]
    fn pattern_holds_nothing_that_no_name_has() {
        let rows = [
            ("a slash", "TEST_*/X", Syntax::Wildcards),
            ("an equals sign", "A=B", Syntax::Wildcards),
            ("a digit first", "1A", Syntax::Wildcards),
            ("empty", "", Syntax::Wildcards),
            ("a wildcard in a variable's item", "TEST_*", Syntax::Literal),
        ];
        for (name, text, syntax) in rows {
            assert!(NamePattern::parse_env(text, syntax, Case::Sensitive).is_err(), "{name}");
        }
    }
}
