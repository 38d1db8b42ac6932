//! A JSON value as its text, and ways to take it apart without reading it twice.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::Malformed;
use super::plain::end_of_plain;

/// A JSON value as its text, known to be well-formed: the scanner or a parser has checked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    pub(super) const fn trusted(text: &'a str) -> Self {
        Self(text)
    }

    /// Returns the text.
    #[must_use]
    pub const fn text(self) -> &'a str {
        self.0
    }

    /// Returns true if this is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns the value as a string, borrowed if nothing in it is escaped.
    pub fn as_str(self) -> Result<Cow<'a, str>, Malformed> {
        let refuse = || Malformed::here("is not a string");
        let quoted = self.0.strip_prefix('"').ok_or_else(refuse)?;
        let end = end_of_plain(quoted.as_bytes(), 0);
        if end + 1 == quoted.len() {
            return Ok(Cow::Borrowed(&quoted[..end]));
        }
        serde_json::from_str(self.0).map(Cow::Owned).map_err(|_| refuse())
    }

    /// Returns an owned copy.
    #[must_use]
    pub fn to_raw(self) -> Box<RawValue> {
        RawValue::from_string(self.0.to_owned()).expect("text that was found to be JSON")
    }

    /// Returns the elements of an array.
    pub fn items(self) -> Result<Vec<Self>, Malformed> {
        let mut cursor =
            Cursor::inside(self.0, b'[').ok_or_else(|| Malformed::here("is not an array"))?;
        let mut items = Vec::new();
        while cursor.more(b']') {
            items.push(Self(&self.0[cursor.value()]));
        }
        Ok(items)
    }

    /// Returns the positions of an object's members. Returns nothing if this is not an object.
    pub(super) fn members(self) -> impl Iterator<Item = MemberAt> + use<'a> {
        let mut cursor = Cursor::inside(self.0, b'{');
        std::iter::from_fn(move || {
            let cursor = cursor.as_mut()?;
            cursor.more(b'}').then(|| {
                let start = cursor.at;
                let plain = cursor.string();
                let key = start..cursor.at.min(cursor.bytes.len());
                cursor.skip_past(b':');
                MemberAt { key, plain, value: cursor.value() }
            })
        })
    }

    /// Returns the members of an object. Returns nothing if this is not an object.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        self.members().map(move |at| {
            let key = &self.0[at.key];
            let key = match at.plain {
                true => Cow::Borrowed(&key[1..key.len() - 1]),
                false => Self(key).as_str().unwrap_or_default(),
            };
            (key, Self(&self.0[at.value]))
        })
    }
}

/// The position of a member in its object.
pub(super) struct MemberAt {
    /// With its quotes.
    pub(super) key: Range<usize>,
    /// Whether the key is free of escapes.
    pub(super) plain: bool,
    pub(super) value: Range<usize>,
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get().trim_ascii())
    }
}

/// A cursor over well-formed text that reads no more than it has to.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor after the opening bracket of the value, if it is the wanted bracket.
    fn inside(text: &'a str, open: u8) -> Option<Self> {
        (text.as_bytes().first() == Some(&open)).then_some(Self { bytes: text.as_bytes(), at: 1 })
    }

    /// Moves to the next element. Returns false if there are no more.
    fn more(&mut self, close: u8) -> bool {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r' | b',') => self.at += 1,
                Some(byte) => return *byte != close,
                None => return false,
            }
        }
    }

    fn skip_past(&mut self, wanted: u8) {
        while self.bytes.get(self.at).is_some_and(|byte| *byte != wanted) {
            self.at += 1;
        }
        self.at += 1;
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Steps over a value and returns its position.
    fn value(&mut self) -> Range<usize> {
        let start = self.at;
        match self.bytes.get(self.at) {
            Some(b'"') => {
                self.string();
            }
            Some(b'{' | b'[') => self.nested(),
            _ => {
                while self.bytes.get(self.at).is_some_and(|byte| {
                    !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                }) {
                    self.at += 1;
                }
            }
        }
        start..self.at.min(self.bytes.len())
    }

    fn nested(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Steps over a string. Returns true if nothing in it is escaped.
    fn string(&mut self) -> bool {
        self.at = end_of_plain(self.bytes, self.at + 1);
        let mut plain = true;
        while self.bytes.get(self.at).is_some_and(|byte| *byte != b'"') {
            plain = false;
            // A backslash and what it escapes.
            self.at = end_of_plain(self.bytes, self.at + 2);
        }
        self.at += 1;
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    proptest! {
        /// However a value is written, its parts are found where a parser finds them.
        #[test]
        fn json_parts_match_those_of_a_parser(value in crate::json::testing::any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            let json = Json(&text);
            let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            prop_assert_eq!(json.items().is_ok(), value.is_array());
            // As a parser reads it: the last digit of a double may differ from what was written.
            let value = parse(&text);
            let text_of = json.as_str().ok();
            prop_assert_eq!(text_of.as_deref(), value.as_str());
            match &value {
                Value::Array(items) => {
                    let found: Vec<_> = json.items().unwrap().into_iter().map(|item| parse(item.text())).collect();
                    prop_assert_eq!(&found, items);
                }
                Value::Object(members) => {
                    let found = json.entries().map(|(key, value)| (key.into_owned(), parse(value.text())));
                    prop_assert_eq!(&found.collect::<serde_json::Map<_, _>>(), members);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn escapes_and_brackets_in_strings_do_not_end_a_value() {
        let json = Json(r#"{ "a\"}" : "]\\" , "b":[ {"c":"}"} , -1.5e3 ],"d" : null }"#);
        let parts: Vec<_> =
            json.entries().map(|(key, value)| (key.into_owned(), value.text())).collect();
        let expected = [("a\"}", r#""]\\""#), ("b", r#"[ {"c":"}"} , -1.5e3 ]"#), ("d", "null")];
        assert_eq!(parts, expected.map(|(key, value)| (key.to_owned(), value)));
    }
}
