//! The words of a policy that are one of a few: the values of `[sandbox]` and `dirs.owner`, from the strictest to the
//! most open.
//!
//! In: the words of a policy. Out: closed enums, ordered so that combining layers is `min`. What they mean to the
//! kernel is left to `sandbox`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose projects may be run (`dirs.owner`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectOwner {
    /// Only those that the user or root owns (`self`).
    #[serde(rename = "self")]
    SelfOrRoot,
    /// Anybody's.
    Any,
}

/// Whether a run may start without the protection that was asked for (`sandbox.mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// A run is refused unless all that was asked for is enforced.
    Require,
    /// A run starts with what this kernel has, and says what is missing.
    BestEffort,
    /// No confinement.
    Off,
}

/// What a run may do to its own project (`sandbox.project`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectAccess {
    /// The project is read, never written.
    ReadOnly,
    /// Only the directories of `sandbox.outputs` are written.
    Outputs,
    /// The whole project is written.
    ReadWrite,
}

/// What network a run has (`sandbox.network`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Neither TCP nor UDP, loopback included.
    None,
    /// TCP and UDP are free.
    Open,
}

/// Whether a run may make unix sockets (`sandbox.unix_sockets`); socket pairs are always allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnixSockets {
    /// Only socket pairs.
    Deny,
    /// Path and abstract sockets too: full Chromium, Chrome and headed browsers need them.
    Allow,
}

/// Ties the variants of a choice to the words of a file.
macro_rules! words {
    ($($choice:ident { $($variant:ident = $word:literal),+ })+) => {
        $(impl $choice {
            /// The words of a file, from the strictest to the most open.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word of a file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(self.word())
            }
        })+
    };
}
pub(in crate::policy) use words;

words! {
    ProjectOwner { SelfOrRoot = "self", Any = "any" }
    SandboxMode { Require = "require", BestEffort = "best-effort", Off = "off" }
    ProjectAccess { ReadOnly = "read-only", Outputs = "outputs", ReadWrite = "read-write" }
    Network { None = "none", Open = "open" }
    UnixSockets { Deny = "deny", Allow = "allow" }
}

#[cfg(test)]
mod tests {
    use super::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};

    #[test]
    fn words_are_what_serde_reads_from_strict_to_open() {
        fn check<T: serde::de::DeserializeOwned + Ord + Copy>(words: &[&str], word: fn(T) -> &'static str) {
            let values: Vec<T> =
                words.iter().map(|word| serde_json::from_value((*word).into()).unwrap()).collect();
            assert!(values.is_sorted());
            assert_eq!(values.into_iter().map(word).collect::<Vec<_>>(), words);
        }
        check(ProjectOwner::WORDS, ProjectOwner::word);
        check(SandboxMode::WORDS, SandboxMode::word);
        check(ProjectAccess::WORDS, ProjectAccess::word);
        check(Network::WORDS, Network::word);
        check(UnixSockets::WORDS, UnixSockets::word);
    }
}
