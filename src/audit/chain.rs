//! The chain: what ties each record to all before it.
//!
//! Each line holds the id of its chain, its number, and `prev`: the SHA-256 of what stands in the file from the start of
//! the record before, up to this one, without the last line break. That is the line before, and with it a torn piece, if
//! one came between; so neither can be changed later. At the start of a chain `prev` is all zeros.

use serde::Deserialize;

use crate::audit::AuditError;

/// The most bytes of a line, with its line break.
pub const LINE_BYTES: usize = 8_192;
/// The version of the format.
pub const VERSION: u64 = 1;
/// `prev` of the first record of a chain.
pub const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The place of a record: before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The chain.
    pub chain: String,
    /// The number in it, from 1.
    pub seq: u64,
    /// The hash of what stands before.
    pub prev: String,
}

/// The end of a chain: what the next record ties to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The chain.
    pub chain: String,
    /// The number of the last record.
    pub seq: u64,
    /// The hash of it, and of what came after it.
    pub digest: String,
}

impl Tip {
    /// The place after this one.
    pub fn next(&self) -> Link {
        Link { chain: self.chain.clone(), seq: self.seq.saturating_add(1), prev: self.digest.clone() }
    }
}

impl Link {
    /// The first place of a new chain, after something that is no record, or nothing.
    ///
    /// # Errors
    /// [`AuditError::Random`] when the kernel gives no random bytes.
    pub fn first(prev: &str) -> Result<Self, AuditError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(AuditError::Random)?;
        Ok(Self { chain: format!("{:032x}", u128::from_ne_bytes(bytes)), seq: 1, prev: prev.to_owned() })
    }

    /// Reads the place of a line; `None` where the line is no record.
    pub fn parse(line: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Parsed {
            v: u64,
            chain: String,
            seq: u64,
            prev: String,
        }
        let fits = line.len() < LINE_BYTES && line.iter().all(|byte| matches!(byte, b' '..=b'~'));
        let parsed: Parsed = serde_json::from_slice(line).ok().filter(|_| fits)?;
        let right =
            parsed.v == VERSION && is_hex(&parsed.chain, 32) && is_hex(&parsed.prev, 64) && parsed.seq > 0;
        right.then_some(Self { chain: parsed.chain, seq: parsed.seq, prev: parsed.prev })
    }
}

/// Whether a text is so many small hexadecimal digits.
pub fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_record_is_one() {
        let record =
            |chain: &str, seq: u64| format!(r#"{{"v":1,"chain":"{chain}","seq":{seq},"prev":"{NOTHING}"}}"#);
        let chain = "0123456789abcdef0123456789abcdef";
        let whole = record(chain, 1);
        assert!(Link::parse(whole.as_bytes()).is_some());
        for (rule, line) in [
            ("torn", whole.trim_end_matches('}').to_owned()),
            ("followed by something", format!("{whole}x")),
            ("of no chain", record("x", 1)),
            ("without a number", record(chain, 0)),
            ("of another version", whole.replace("\"v\":1", "\"v\":2")),
            ("with its place twice", whole.replace("\"v\":1", "\"v\":1,\"seq\":2")),
            ("not ASCII", whole.replace("\"v\"", "\"u\":\"é\",\"v\"")),
            ("too long", whole.replace("\"v\"", &format!("\"u\":\"{}\",\"v\"", "x".repeat(LINE_BYTES)))),
        ] {
            assert_eq!(Link::parse(line.as_bytes()), None, "{rule}");
        }
    }
}
