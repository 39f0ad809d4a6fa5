//! Reading JSON leniently, and no more of it than is wanted.
//!
//! In: a deserializer at a value. Out: the value where it has the wanted type, else nothing: a field of another type than
//! expected is as good as absent. Objects and arrays are read entry by entry into what is given, so that what came before
//! a fault is not lost.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::text::{cut_end, cut_middle, printable};

/// What the fields of an object are read into.
pub(in crate::report) trait Fields {
    /// The names of the fields that are wanted.
    const NAMES: &'static [&'static str];

    /// Reads the value of a field; `name` is one of [`Self::NAMES`].
    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error>;
}

/// What the items of an array are read into.
pub(in crate::report) trait Items {
    /// Reads one item; `false` where there is none left.
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error>;
}

/// Reads an object into what is given.
pub(in crate::report) struct Object<'t, T>(pub(in crate::report) &'t mut T);

/// Reads an array into what is given.
pub(in crate::report) struct Array<'t, T>(pub(in crate::report) &'t mut T);

/// Reads a text, printable, of at most so many bytes; what is more is cut at its end.
pub(in crate::report) struct Text(pub(in crate::report) usize);

/// Reads a text, printable, of at most so many bytes; what is more is cut in its middle.
pub(in crate::report) struct LongText(pub(in crate::report) usize);

/// Reads a text as it stands; one longer than [`MAX_PATH_BYTES`] is as good as absent.
pub(in crate::report) struct Path;

/// The longest path that is read, in bytes.
const MAX_PATH_BYTES: usize = 8 << 10;

/// Reads a number; a fraction is dropped.
pub(in crate::report) struct Integer;

/// Hands a text to a function, as it stands.
pub(in crate::report) struct With<F>(pub(in crate::report) F);

/// Reads an object's key: one of the names, or an empty text for any other.
struct Key(&'static [&'static str]);

/// Methods of a visitor for the types that are not wanted: they give the default value.
macro_rules! ignore {
    ($($kind:ident)*) => { $(ignore!(@ $kind);)* };
    (@ scalars) => {
        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ numbers) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ text) => {
        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
    (@ array) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ object) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

/// Makes a seed of a visitor.
macro_rules! seed {
    ($type:ty, $value:ty $(, [$($generics:tt)*])?) => {
        impl<'de $(, $($generics)*)?> DeserializeSeed<'de> for $type {
            type Value = $value;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_any(self)
            }
        }
    };
}

fn anything(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("a value")
}

seed!(Object<'_, T>, (), [T: Fields]);

impl<'de, T: Fields> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        anything(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Key(T::NAMES))? {
            if name.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                self.0.field(name, &mut map)?;
            }
        }
        Ok(())
    }

    ignore!(scalars numbers text array);
}

seed!(Array<'_, T>, (), [T: Items]);

impl<'de, T: Items> Visitor<'de> for Array<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        anything(f)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while self.0.item(&mut items)? {}
        Ok(())
    }

    ignore!(scalars numbers text object);
}

seed!(With<F>, Option<T>, [T, F: FnOnce(&str) -> T]);

impl<'de, T, F: FnOnce(&str) -> T> Visitor<'de> for With<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        anything(f)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some((self.0)(text)))
    }

    ignore!(scalars numbers array object);
}

/// Seeds that are [`With`] and a function.
macro_rules! text_seed {
    ($type:ty, $function:expr) => {
        impl<'de> DeserializeSeed<'de> for $type {
            type Value = Option<String>;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                With(|text: &str| $function(self, text)).deserialize(deserializer)
            }
        }
    };
}

text_seed!(Text, |seed: Text, text| cut_end(&printable(text), seed.0).into_owned());
text_seed!(LongText, |seed: LongText, text| cut_middle(&printable(text), seed.0).into_owned());

impl<'de> DeserializeSeed<'de> for Path {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let path = With(|text: &str| (text.len() <= MAX_PATH_BYTES).then(|| text.to_owned()));
        path.deserialize(deserializer).map(Option::flatten)
    }
}

seed!(Integer, Option<i64>);

impl<'de> Visitor<'de> for Integer {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        anything(f)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and a fraction is to be dropped")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(number as i64))
    }

    ignore!(scalars text array object);
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let names = self.0;
        let known = With(|key: &str| names.iter().copied().find(|&name| name == key));
        Ok(known.deserialize(deserializer)?.flatten().unwrap_or_default())
    }
}

/// Gives a number of lines, tries or the like: what is negative or absent is 0.
pub(in crate::report) fn count(number: Option<i64>) -> u32 {
    u32::try_from(number.unwrap_or_default().max(0)).unwrap_or(u32::MAX)
}

/// Gives a time in milliseconds: what is negative or absent is 0.
pub(in crate::report) fn milliseconds(number: Option<i64>) -> u64 {
    u64::try_from(number.unwrap_or_default()).unwrap_or_default()
}
