//! Heads: what the journal holds of a log, against which a file is compared.
//!
//! In: `journalctl -o json`. Out: the hash of each record by its place, of those entries alone that the log's owner or
//! root sent: anybody can send entries with any name, but journald itself writes down whose process it was.

use std::{
    collections::BTreeSet,
    io::{self, BufRead},
    ops::Range,
    path::PathBuf,
};

use serde::Deserialize;
use serde_json::Value;

use crate::audit::chain::is_hex;

/// The most bytes of one entry.
const ENTRY_BYTES: u64 = 1 << 20;

/// One record, as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    chain: u128,
    seq: u64,
    hash: [u8; 32],
    /// Whether it names one of the files.
    here: bool,
    seen: bool,
}

/// All heads of some logs.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    heads: Vec<Head>,
    ignored: u64,
}

/// What the journal says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The same.
    Same,
    /// Something else.
    Other,
    /// Nothing.
    Nothing,
}

/// Whose entries count, and for which files.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// The owners of the files; root counts besides.
    pub uids: BTreeSet<u32>,
    /// The files, without symlinks.
    pub files: BTreeSet<PathBuf>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_UID")]
    uid: Value,
    #[serde(rename = "PW_CHAIN")]
    chain: String,
    #[serde(rename = "PW_SEQ")]
    seq: String,
    #[serde(rename = "PW_HASH")]
    hash: String,
    #[serde(rename = "PW_FILE", default)]
    file: Value,
}

impl Heads {
    /// Reads the output of `journalctl -o json`; what is no head is passed over and counted.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(mut reader: impl BufRead, owners: &Owners) -> io::Result<Self> {
        let mut heads = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            io::Read::take(&mut reader, ENTRY_BYTES).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                break;
            }
            match serde_json::from_slice(&line).ok().and_then(|entry| head(&entry, owners)) {
                Some(head) => heads.heads.push(head),
                None => heads.ignored = heads.ignored.saturating_add(1),
            }
        }
        heads.heads.sort_unstable();
        heads.heads.dedup();
        Ok(heads)
    }

    /// How many heads there are.
    pub fn count(&self) -> usize {
        self.heads.len()
    }

    /// How many entries were passed over: of others, or no heads.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// What the journal says of a record.
    pub fn compare(&mut self, chain: &str, seq: u64, hash: &str) -> Said {
        let (Some(chain), Some(hash)) = (chain_of(chain), hash_of(hash)) else { return Said::Nothing };
        let start = self.heads.partition_point(|head| (head.chain, head.seq) < (chain, seq));
        let mut said = Said::Nothing;
        for head in
            self.heads.iter_mut().skip(start).take_while(|head| (head.chain, head.seq) == (chain, seq))
        {
            head.seen = true;
            said = match said {
                Said::Nothing | Said::Same if head.hash == hash => Said::Same,
                Said::Nothing | Said::Same | Said::Other => Said::Other,
            };
        }
        said
    }

    /// The records that the journal has and nobody compared, chain by chain: those of the files, and of these chains.
    pub fn missing(&self, chains: &BTreeSet<String>) -> Vec<(String, Range<u64>)> {
        let chains: BTreeSet<u128> = chains.iter().filter_map(|chain| chain_of(chain)).collect();
        let mut missing: Vec<(u128, Range<u64>)> = Vec::new();
        let ours = |head: &&Head| !head.seen && (head.here || chains.contains(&head.chain));
        for head in self.heads.iter().filter(ours) {
            let after = head.seq.saturating_add(1);
            match missing.last_mut() {
                Some((chain, range))
                    if *chain == head.chain && (range.end == head.seq || range.end == after) =>
                {
                    range.end = after;
                }
                Some(_) | None => missing.push((head.chain, head.seq..after)),
            }
        }
        missing.into_iter().map(|(chain, range)| (format!("{chain:032x}"), range)).collect()
    }
}

fn head(entry: &Entry, owners: &Owners) -> Option<Head> {
    let uid: u32 = entry.uid.as_str()?.parse().ok()?;
    if uid != 0 && !owners.uids.contains(&uid) {
        return None;
    }
    let here = file_of(&entry.file).is_some_and(|file| owners.files.contains(&file));
    let (chain, hash) = (chain_of(&entry.chain)?, hash_of(&entry.hash)?);
    Some(Head { chain, seq: entry.seq.parse().ok()?, hash, here, seen: false })
}

/// A path; one with characters that are not printable is an array of bytes.
fn file_of(value: &Value) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    match value {
        Value::String(text) => Some(text.into()),
        Value::Array(bytes) => {
            let byte = |value: &Value| value.as_u64().and_then(|byte| u8::try_from(byte).ok());
            let bytes: Option<Vec<u8>> = bytes.iter().map(byte).collect();
            bytes.map(|bytes| std::ffi::OsString::from_vec(bytes).into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn chain_of(text: &str) -> Option<u128> {
    u128::from_str_radix(text, 16).ok().filter(|_| is_hex(text, 32))
}

fn hash_of(text: &str) -> Option<[u8; 32]> {
    let halves = [text.get(..32)?, text.get(32..)?].map(chain_of);
    let [Some(first), Some(second)] = halves else { return None };
    let mut hash = [0; 32];
    for (to, from) in hash.iter_mut().zip(first.to_be_bytes().into_iter().chain(second.to_be_bytes())) {
        *to = from;
    }
    Some(hash)
}
