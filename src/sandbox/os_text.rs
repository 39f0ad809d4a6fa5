//! Strings of the operating system in JSON: text where it is UTF-8, an array of bytes where it is not.
//!
//! In and out: paths, arguments, variables, without loss in either direction. What they mean is left to others.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OsText {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&OsStr> for OsText {
    fn from(value: &OsStr) -> Self {
        value
            .to_str()
            .map_or_else(|| Self::Bytes(value.as_bytes().to_vec()), |text| Self::Text(text.to_owned()))
    }
}

impl From<OsText> for OsString {
    fn from(value: OsText) -> Self {
        match value {
            OsText::Text(text) => text.into(),
            OsText::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// One string or path, for `#[serde(with)]`.
pub mod one {
    use super::{Deserialize, OsStr, OsString, OsText, Serialize};
    use serde::{Deserializer, Serializer};

    /// Writes `value`.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        OsText::from(value.as_ref()).serialize(serializer)
    }

    /// Reads one value.
    ///
    /// # Errors
    ///
    /// Anything but a string or an array of bytes.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        OsText::deserialize(deserializer).map(|text| T::from(text.into()))
    }
}

/// A list of strings or paths, for `#[serde(with)]`.
pub mod list {
    use super::{Deserialize, OsStr, OsString, OsText};
    use serde::{Deserializer, Serializer};

    /// Writes `values` in order.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<T: AsRef<OsStr>, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| OsText::from(value.as_ref())))
    }

    /// Reads a list.
    ///
    /// # Errors
    ///
    /// Anything but an array of strings or arrays of bytes.
    pub fn deserialize<'de, T: From<OsString>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        let texts = Vec::<OsText>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(|text| T::from(text.into())).collect())
    }
}

/// A map of strings as a list of pairs (names need not be UTF-8, JSON's keys must be), for `#[serde(with)]`.
pub mod pairs {
    use super::{Deserialize, OsString, OsText};
    use serde::{Deserializer, Serializer};
    use std::collections::BTreeMap;

    /// Writes the pairs, ordered by name.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(
        values: &BTreeMap<OsString, OsString>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let texts = values
            .iter()
            .map(|(name, value)| (OsText::from(name.as_os_str()), OsText::from(value.as_os_str())));
        serializer.collect_seq(texts)
    }

    /// Reads pairs; of two with one name the last holds.
    ///
    /// # Errors
    ///
    /// Anything but an array of pairs.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<OsString, OsString>, D::Error> {
        let texts = Vec::<(OsText, OsText)>::deserialize(deserializer)?;
        Ok(texts.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
