//! Every bound of the policy, with its unit in the type.
//!
//! In: the smallest value of all layers. Out: [`Limits`], one accessor a key of `[limits]`. What a bound is applied to
//! is left to the parts that work within it.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

use crate::policy::origin::Sourced;
use crate::policy::source::keys::{Combination, Key, Kind};

/// A bound, or none. Ordered, so that the smaller of two is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit<T> {
    /// At most this.
    Bounded(T),
    /// As much as there is; `"unlimited"` in a file.
    Unlimited,
}

impl<T> Limit<T> {
    /// The bound, where there is one.
    pub fn bound(self) -> Option<T> {
        match self {
            Self::Bounded(bound) => Some(bound),
            Self::Unlimited => None,
        }
    }

    /// Says whether a value is within the bound, itself included.
    pub fn admits(&self, value: &T) -> bool
    where
        T: PartialOrd,
    {
        match self {
            Self::Bounded(bound) => value <= bound,
            Self::Unlimited => true,
        }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Limit<U> {
        match self {
            Self::Bounded(bound) => Limit::Bounded(change(bound)),
            Self::Unlimited => Limit::Unlimited,
        }
    }
}

impl fmt::Display for Limit<u64> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bounded(bound) => write!(out, "{bound}"),
            Self::Unlimited => write!(out, "unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for Limit<u64> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsWritten;
        impl Visitor<'_> for AsWritten {
            type Value = Limit<u64>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "a number of 1 or more, or \"unlimited\"")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                match u64::try_from(value) {
                    Ok(bound) if bound > 0 => Ok(Limit::Bounded(bound)),
                    Ok(_) | Err(_) => Err(E::invalid_value(de::Unexpected::Signed(value), &self)),
                }
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
                if value > 0 {
                    Ok(Limit::Bounded(value))
                } else {
                    Err(E::invalid_value(de::Unexpected::Unsigned(value), &self))
                }
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                if value == UNLIMITED {
                    Ok(Limit::Unlimited)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(value), &self))
                }
            }
        }
        deserializer.deserialize_any(AsWritten)
    }
}

/// How a file writes [`Limit::Unlimited`].
pub const UNLIMITED: &str = "unlimited";

/// The largest number of seconds that a file may write (136 years); more would overflow clocks.
pub const MAX_SECONDS: u64 = u32::MAX as u64;

impl Limit<Bytes> {
    /// The number, where there is a bound.
    pub fn bytes(self) -> Option<u64> {
        self.bound().map(|Bytes(bytes)| bytes)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A unit that a whole number in a file is meant in.
trait Unit: Sized {
    fn from_number(number: u64) -> Self;
    fn to_number(&self) -> u64;
}

impl Unit for u64 {
    fn from_number(number: u64) -> Self {
        number
    }

    fn to_number(&self) -> u64 {
        *self
    }
}

impl Unit for Bytes {
    fn from_number(number: u64) -> Self {
        Self(number)
    }

    fn to_number(&self) -> u64 {
        self.0
    }
}

impl Unit for Duration {
    fn from_number(number: u64) -> Self {
        Self::from_secs(number)
    }

    fn to_number(&self) -> u64 {
        self.as_secs()
    }
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $name:ident: $unit:ty = $default:expr $(, not $caveat:literal)?;)+) => {
        /// The maxima of `[limits]`, each the smallest of all layers.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits {
            $($name: Sourced<Limit<$unit>>,)+
        }

        impl Limits {
            /// The keys of `[limits]`.
            pub const KEYS: &[Key] = &[$(
                Key {
                    name: stringify!($name),
                    kind: Kind::Bound,
                    combination: Combination::Smallest,
                    meaning: concat!($($doc),+).trim_ascii(),
                    caveat: concat!("" $(, $caveat)?),
                },
            )+];

            /// Makes the limits from the number that `of` finds for a key, given the key and its default.
            pub(in crate::policy) fn combine(
                mut of: impl FnMut(&'static str, Limit<u64>) -> Sourced<Limit<u64>>,
            ) -> Self {
                Self {
                    $($name: of(stringify!($name), $default).map(|limit| limit.map(<$unit>::from_number)),)+
                }
            }

            /// All limits as numbers, by key.
            pub(in crate::policy) fn rows(&self) -> Vec<(&'static str, Sourced<Limit<u64>>)> {
                vec![
                    $((stringify!($name), self.$name.clone().map(|limit| limit.map(|it| it.to_number()))),)+
                ]
            }

            $($(#[doc = $doc])+
            pub const fn $name(&self) -> &Sourced<Limit<$unit>> {
                &self.$name
            })+
        }
    };
}

limits! {
    /// How long a run may take.
    run_seconds: Duration = Limit::Bounded(3600);
    /// How long a run may take to end itself, between SIGINT and SIGKILL.
    grace_seconds: Duration = Limit::Bounded(5);
    /// Runs at one time, of all projects.
    active_runs: u64 = Limit::Bounded(4);
    /// Runs whose directories are kept.
    kept_runs: u64 = Limit::Bounded(50);
    /// What all kept runs together may take on the disk.
    kept_bytes: Bytes = Limit::Bounded(2_000_000_000);
    /// Playwright workers of one run.
    workers: u64 = Limit::Unlimited,
        not "It bounds what a call asks for; the project's own number holds otherwise.";
    /// Retries of one test.
    retries: u64 = Limit::Unlimited,
        not "It bounds what a call asks for; the project's own number holds otherwise.";
    /// A report's size; a larger one is refused.
    report_bytes: Bytes = Limit::Bounded(4_294_967_296);
    /// The text of one answer.
    answer_bytes: Bytes = Limit::Bounded(20_000);
    /// The end of stdout, and of stderr, that is kept for an answer.
    output_tail_bytes: Bytes = Limit::Bounded(4_000);
    /// `RLIMIT_DATA` of each process of a run.
    memory_bytes_per_process: Bytes = Limit::Unlimited,
        not "It is no bound of a whole run: each process has its own.";
    /// `RLIMIT_NOFILE` of each process of a run, in descriptors.
    open_files: u64 = Limit::Bounded(4096);
    /// `RLIMIT_FSIZE` of each process of a run.
    file_bytes: Bytes = Limit::Bounded(1_073_741_824);
}

#[cfg(test)]
mod tests {
    use super::Limit;

    #[test]
    fn unlimited_is_the_largest() {
        assert!(Limit::Bounded(u64::MAX) < Limit::Unlimited);
        assert!(Limit::Bounded(1) < Limit::Bounded(2));
    }

    #[test]
    fn bound_admits_itself_and_less() {
        assert!(Limit::Bounded(2).admits(&2));
        assert!(!Limit::Bounded(2).admits(&3));
        assert!(Limit::Unlimited.admits(&u64::MAX));
    }

    #[test]
    fn limit_is_a_positive_number_or_unlimited() {
        let rows = [
            ("1", Some(Limit::Bounded(1))),
            ("\"unlimited\"", Some(Limit::Unlimited)),
            ("0", None),
            ("-1", None),
            ("1.5", None),
            ("\"all\"", None),
        ];
        for (json, expected) in rows {
            assert_eq!(serde_json::from_str::<Limit<u64>>(json).ok(), expected, "{json}");
        }
    }
}
