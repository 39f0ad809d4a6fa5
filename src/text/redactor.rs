//! Secrets taken out of text, as a courtesy.
//!
//! In: names and values that are known to be secret, then any text. Out: the text with each value, plain or encoded, and
//! each password in a URL replaced. Which values are secret is left to the policy.

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The shortest value that is looked for, in bytes: a shorter one would be found everywhere.
pub const MIN_VALUE_BYTES: usize = 8;
/// A longer value is looked for in pieces of this many bytes.
const PIECE_BYTES: usize = 256;

/// What JavaScript's `encodeURIComponent` escapes.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Why a redactor could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the values to redact are too many or too long")]
pub struct RedactorError(#[from] BuildError);

/// Replaces known secret values by `[redacted NAME]`, and passwords in URLs by `[redacted password]`.
///
/// # Security
///
/// This is a courtesy, no boundary: test code that knows a secret can always write it in a form that no search finds
/// (reversed, split, compressed). It keeps honest tests from putting a token into an agent's context by accident.
pub struct Redactor {
    automaton: AhoCorasick,
    /// The name for each pattern of the automaton.
    names: Vec<String>,
}

impl Redactor {
    /// Makes a redactor of `(name, value)` pairs.
    ///
    /// Values of less than [`MIN_VALUE_BYTES`], numbers and booleans are not looked for. Each other value is found plain,
    /// percent-encoded, escaped in JSON, and in base64 (both alphabets, at any alignment). Of equal values the first names it.
    ///
    /// # Errors
    ///
    /// The automaton cannot hold the values (gigabytes of them).
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Result<Self, RedactorError> {
        let (mut names, mut patterns) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let value = value.trim();
            if is_secret(value) {
                for form in pieces(value).flat_map(forms) {
                    names.push(name.clone());
                    patterns.push(form);
                }
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns)?;
        Ok(Self { automaton, names })
    }

    /// Replaces each secret in a text; a text without one is returned as it is.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let known = self.redact_known(text);
        match redact_passwords(&known) {
            Some(redacted) => Cow::Owned(redacted),
            None => known,
        }
    }

    fn redact_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.names.is_empty() || !self.automaton.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        self.automaton.replace_all_with(text, &mut out, |found, _, out| {
            out.push_str("[redacted ");
            out.push_str(self.names.get(found.pattern().as_usize()).map_or("secret", String::as_str));
            out.push(']');
            true
        });
        Cow::Owned(out)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("names", &self.names).finish_non_exhaustive()
    }
}

fn is_secret(value: &str) -> bool {
    value.len() >= MIN_VALUE_BYTES && value.parse::<f64>().is_err()
}

/// Splits a value into pieces that are looked for by themselves: a long one that repeats itself would make the search
/// very large.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        // The last piece takes a remainder along that would be too short to be looked for.
        let end = rest.floor_char_boundary(PIECE_BYTES);
        let end = if rest.len() - end < MIN_VALUE_BYTES { rest.len() } else { end };
        let (piece, left) = rest.split_at_checked(end)?;
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Lists the forms in which a value is looked for; they may repeat.
fn forms(value: &str) -> Vec<String> {
    let component = utf8_percent_encode(value, COMPONENT).to_string();
    let form = component.replace("%20", "+");
    let escaped = serde_json::Value::from(value).to_string();
    let escaped =
        escaped.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default().to_owned();
    let mut forms = vec![value.to_owned(), component, form];
    if escaped.len() >= MIN_VALUE_BYTES {
        forms.push(escaped);
    }
    for shift in 0..3 {
        forms.push(base64_core(value, shift, &STANDARD_NO_PAD));
        forms.push(base64_core(value, shift, &URL_SAFE_NO_PAD));
    }
    forms
}

/// Gives the base64 characters that depend on the value alone when it starts `shift` bytes into a group of three.
fn base64_core(value: &str, shift: usize, alphabet: &impl base64::Engine) -> String {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value.as_bytes());
    let whole = bytes.len() * 8 / 6;
    let encoded = alphabet.encode(bytes);
    encoded.get((shift * 8).div_ceil(6)..whole).unwrap_or_default().to_owned()
}

/// Takes the passwords out of the URLs in a text.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    redact_passwords(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Takes the password out of each `scheme://user:password@host`; `None` where there is none.
fn redact_passwords(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        rest = after;
        let has_scheme =
            before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        if let Some((user, password)) = userinfo(after).filter(|_| has_scheme) {
            out.push_str(user);
            out.push_str(":[redacted password]");
            rest = after.get(user.len() + 1 + password.len()..).unwrap_or_default();
            found = true;
        }
    }
    out.push_str(rest);
    found.then_some(out)
}

/// Splits the user and a password that is not empty off the start of an authority.
fn userinfo(after_scheme: &str) -> Option<(&str, &str)> {
    let end = after_scheme
        .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`'));
    let authority = end.map_or(Some(after_scheme), |end| after_scheme.get(..end))?;
    let (user, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    (!password.is_empty()).then_some((user, password))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;

    fn redactor() -> Redactor {
        let pairs = [
            ("TOKEN", "s3cr3t/va+lue é"),
            ("LONGER", "s3cr3t/va+lue é and more"),
            ("PORT", "12345678"),
            ("SHORT", "abc"),
        ];
        Redactor::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))).unwrap()
    }

    #[test]
    fn a_known_value_is_redacted_in_each_encoding() {
        let encode = |text: &str| STANDARD_NO_PAD.encode(text);
        for (rule, text, expected) in [
            ("plain", "token=s3cr3t/va+lue é;".to_owned(), "token=[redacted TOKEN];"),
            ("the longest wins", "s3cr3t/va+lue é and more".to_owned(), "[redacted LONGER]"),
            ("percent-encoded", "?t=s3cr3t%2Fva%2Blue%20%C3%A9".to_owned(), "?t=[redacted TOKEN]"),
            ("as a form", "t=s3cr3t%2Fva%2Blue+%C3%A9".to_owned(), "t=[redacted TOKEN]"),
            ("a number stays", "port 12345678".to_owned(), "port 12345678"),
            ("a short value stays", "abc".to_owned(), "abc"),
        ] {
            assert_eq!(redactor().redact(&text), expected, "{rule}");
        }
        for (rule, text) in [
            ("base64 alone", encode("s3cr3t/va+lue é")),
            ("base64 after one byte", encode("us3cr3t/va+lue é")),
            ("base64 of a user and a password", encode("bob:s3cr3t/va+lue é")),
            ("base64 within more", encode("xxs3cr3t/va+lue é!!")),
            ("url-safe base64", URL_SAFE_NO_PAD.encode("s3cr3t/va+lue é")),
        ] {
            let redacted = redactor().redact(&text).into_owned();
            assert!(redacted.contains("[redacted TOKEN]"), "{rule}: {redacted}");
            assert!(redacted.len() < text.len() + 12, "{rule}: nearly all of it is gone: {redacted}");
        }
    }

    #[test]
    fn a_value_with_quotes_is_redacted_in_json() {
        let redactor = Redactor::new([("KEY".to_owned(), "pass\"wo\\rd".to_owned())]).unwrap();
        assert_eq!(redactor.redact(r#"{"k":"pass\"wo\\rd"}"#), r#"{"k":"[redacted KEY]"}"#);
    }

    #[test]
    fn the_password_of_a_url_is_redacted() {
        let none = Redactor::new([]).unwrap();
        for (rule, text, expected) in [
            (
                "user and password",
                "at https://bob:hunter2@host/x",
                "at https://bob:[redacted password]@host/x",
            ),
            ("no user", "redis://:hunter2@host", "redis://:[redacted password]@host"),
            ("an at sign in the password", "pg://u:p@ss@h/db", "pg://u:[redacted password]@h/db"),
            ("several", "a://u:p@h b://u:q@h", "a://u:[redacted password]@h b://u:[redacted password]@h"),
            ("a user alone stays", "https://bob@host", "https://bob@host"),
            ("a port stays", "http://localhost:3000/@x", "http://localhost:3000/@x"),
            ("an empty password stays", "https://bob:@host", "https://bob:@host"),
            ("no scheme", "://u:p@h", "://u:p@h"),
        ] {
            assert_eq!(none.redact(text), expected, "{rule}");
        }
        assert!(matches!(none.redact("nothing://here"), Cow::Borrowed(_)));
    }

    #[test]
    fn secrets_do_not_stand_in_debug_output() {
        assert!(!format!("{:?}", redactor()).contains("s3cr3t"));
    }
}
