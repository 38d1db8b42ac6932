//! A JSON object kept member by member as text: what makes messages lossless.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Decode, Malformed};

/// An object whose members stand in their order of arrival, each value as the text that arrived.
///
/// Text keeps what typed values lose: digits of a number, the difference between `null` and absent,
/// members nobody has heard of yet.
#[derive(Debug, Clone, Default)]
pub struct Object(Vec<(String, Box<RawValue>)>);

impl Object {
    /// An object without members.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// True if there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a member's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, raw)| &**raw)
    }

    /// Sets a member, replacing an earlier value of that name.
    pub fn set(&mut self, key: impl Into<String>, raw: Box<RawValue>) {
        let key = key.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some((_, old)) => *old = raw,
            None => self.0.push((key, raw)),
        }
    }

    /// Sets a member from anything that serialises.
    ///
    /// # Panics
    /// If the value cannot be written as JSON, as a map whose keys are not strings cannot.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: &(impl Serialize + ?Sized)) -> Self {
        self.set(key, super::raw(value));
        self
    }

    /// Reads a member; `None` if it is absent.
    pub fn read<T: Decode>(&self, key: &str) -> Result<Option<T>, Malformed> {
        self.get(key).map(T::decode).transpose().map_err(|e| e.within(key))
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(k, raw)| (k.as_str(), &**raw))
    }
}

impl PartialEq for Object {
    /// Same members in the same order with the same text.
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(|(k, raw)| (k, raw.get())).eq(other.iter().map(|(k, raw)| (k, raw.get())))
    }
}

impl IntoIterator for Object {
    type Item = (String, Box<RawValue>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Box<RawValue>)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Box<RawValue>)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, raw) in &self.0 {
            map.serialize_entry(key, raw)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(Object(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
