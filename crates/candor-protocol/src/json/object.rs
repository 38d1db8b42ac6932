//! A JSON object that keeps each member as text, so that messages lose nothing.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Decode, Json, Malformed};

/// An object with its members in order of arrival, each value as the text that arrived.
///
/// Text keeps what typed values lose: digits of a number, the difference between `null` and absent, and
/// unknown members. Members that arrived together share one copy of their text.
#[derive(Clone, Default)]
pub struct Object {
    arrived: Option<Arc<str>>,
    members: Vec<Member>,
}

#[derive(Clone)]
struct Member {
    key: Part,
    value: Part,
}

#[derive(Clone)]
enum Part {
    /// A part of the text that arrived.
    Arrived(Range<usize>),
    /// A separate text: a member that was set, or a key that was written with escapes.
    Own(Box<str>),
}

impl Object {
    /// Creates an object without members.
    #[must_use]
    pub const fn new() -> Self {
        Self { arrived: None, members: Vec::new() }
    }

    /// Reads a part of `text` as an object, without copying it.
    pub(crate) fn within(text: &Arc<str>, part: Range<usize>) -> Result<Self, Malformed> {
        let Range { start, .. } = part;
        let json = Json::trusted(&text[part]);
        if !json.text().starts_with('{') {
            return Err(Malformed::here("is not an object"));
        }
        let mut members = Vec::with_capacity(4);
        for at in json.members() {
            let quoted = start + at.key.start..start + at.key.end;
            let plain = Part::Arrived(quoted.start + 1..quoted.end - 1);
            let key = match at.plain {
                true => plain,
                false => {
                    Json::trusted(&text[quoted]).as_str().map_or(plain, |key| Part::Own(key.into()))
                }
            };
            let value = Part::Arrived(start + at.value.start..start + at.value.end);
            members.push(Member { key, value });
        }
        Ok(Self { arrived: Some(text.clone()), members })
    }

    fn part<'a>(&'a self, part: &'a Part) -> &'a str {
        match part {
            Part::Arrived(range) => self.arrived.as_deref().map_or("", |text| &text[range.clone()]),
            Part::Own(text) => text,
        }
    }

    /// Returns how many received bytes this object keeps in memory: the whole message that its members came in.
    #[must_use]
    pub fn arrived_bytes(&self) -> usize {
        self.arrived.as_ref().map_or(0, |text| text.len())
    }

    /// Returns true if there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns a member's value.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Json<'_>> {
        self.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// Sets a member, replacing an earlier value of that name.
    pub fn set(&mut self, key: impl Into<String>, raw: Box<RawValue>) {
        let key = key.into();
        let value = Part::Own(raw.into());
        match self.position(&key) {
            Some(at) => self.members[at].value = value,
            None => self.members.push(Member { key: Part::Own(key.into()), value }),
        }
    }

    /// Sets a member from any value that serializes.
    ///
    /// # Panics
    /// If the value cannot be written as JSON, such as a map whose keys are not strings.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: &(impl Serialize + ?Sized)) -> Self {
        self.set(key, super::raw(value));
        self
    }

    /// Removes a member.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        if let Some(at) = self.position(key) {
            self.members.remove(at);
        }
        self
    }

    /// Reads a member; `None` if it is absent.
    pub fn read<T: Decode>(&self, key: &str) -> Result<Option<T>, Malformed> {
        self.get(key).map(T::decode).transpose().map_err(|e| e.within(key))
    }

    /// Reads a member that is a string; `None` if it is absent.
    pub fn read_str(&self, key: &str) -> Result<Option<Cow<'_, str>>, Malformed> {
        self.get(key).map(Json::as_str).transpose().map_err(|e| e.within(key))
    }

    /// Takes out a member that is an object; `None` if it is absent.
    pub fn take_object(&mut self, key: &str) -> Result<Option<Self>, Malformed> {
        let Some(at) = self.position(key) else {
            return Ok(None);
        };
        let taken = match (self.members.remove(at).value, &self.arrived) {
            (Part::Arrived(range), Some(text)) => Self::within(text, range),
            (Part::Own(text), _) => Self::decode(Json::trusted(&text)),
            (Part::Arrived(_), None) => Ok(Self::new()),
        };
        taken.map(Some).map_err(|e| e.within(key))
    }

    /// Keeps the members for which `keep` returns true.
    pub fn retain(
        &mut self,
        mut keep: impl FnMut(&str, Json<'_>) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        self.keep(&mut keep)
    }

    /// Implements [`retain`](Self::retain) once, instead of once for the `keep` of each of the eighty message types.
    fn keep(
        &mut self,
        keep: &mut dyn FnMut(&str, Json<'_>) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        let mut members = std::mem::take(&mut self.members);
        let mut failed = None;
        members.retain(|member| {
            failed.is_none()
                && keep(self.part(&member.key), Json::trusted(self.part(&member.value)))
                    .unwrap_or_else(|error| {
                        failed = Some(error);
                        false
                    })
        });
        if members.is_empty() {
            // No member refers to the text any longer.
            self.arrived = None;
        } else {
            self.members = members;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Json<'_>)> {
        self.members
            .iter()
            .map(|member| (self.part(&member.key), Json::trusted(self.part(&member.value))))
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.members.iter().position(|member| self.part(&member.key) == key)
    }
}

impl Decode for Object {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        match json.text() {
            "{}" => Ok(Self::new()),
            text => Self::within(&text.into(), 0..text.len()),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (key, value.text()))).finish()
    }
}

impl PartialEq for Object {
    /// Returns true for the same members in the same order with the same text.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl FromIterator<(String, Box<RawValue>)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Box<RawValue>)>>(members: I) -> Self {
        let members = members
            .into_iter()
            .map(|(key, raw)| Member { key: Part::Own(key.into()), value: Part::Own(raw.into()) });
        Self { arrived: None, members: members.collect() }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, &value)?;
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
                let mut members: Vec<(String, Box<RawValue>)> = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    members.push(entry);
                }
                Ok(members.into_iter().collect())
            }
        }

        deserializer.deserialize_map(Members)
    }
}
