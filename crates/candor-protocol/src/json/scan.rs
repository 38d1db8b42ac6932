//! One pass over the bytes before anything is decoded.
//!
//! Parsers disagree about duplicate keys, lone surrogates and extreme depth. If two parsers read a message differently, a
//! server could approve one call and run another. So the scanner refuses all three, before anything else reads the message.
//! It accepts only JSON that every parser reads alike. Later stages keep members as text and need no more checks.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::Json;

/// The default limit for the nesting of a message.
pub const DEFAULT_DEPTH: usize = 64;

/// Objects with more keys than this are checked with a set instead of by comparing each pair.
const FEW_KEYS: usize = 16;

/// Why a text was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanError {
    /// Byte offset of the first problem.
    pub offset: usize,
    /// What was wrong there.
    pub problem: Problem,
}

/// The reasons to refuse a text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text is not JSON. Holds what was expected.
    Syntax(&'static str),
    /// An object names this key twice.
    DuplicateKey(String),
    /// Arrays and objects nest deeper than allowed.
    TooDeep(usize),
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::NotUtf8 => write!(f, "not UTF-8 at byte {}", self.offset),
            Problem::Syntax(expected) => {
                write!(f, "not JSON at byte {}: expected {expected}", self.offset)
            }
            Problem::DuplicateKey(key) => {
                write!(f, "duplicate key {key:?} at byte {}", self.offset)
            }
            Problem::TooDeep(limit) => {
                write!(f, "nested deeper than {limit} levels at byte {}", self.offset)
            }
        }
    }
}

impl std::error::Error for ScanError {}

/// Checks that `bytes` hold exactly one JSON value that every parser reads alike, and returns it.
///
/// ```
/// use candor_protocol::json::{scan, DEFAULT_DEPTH};
///
/// assert!(scan(br#"{"a": 1, "b": [true]}"#, DEFAULT_DEPTH).is_ok());
/// let refused = scan(br#"{"a": 1, "\u0061": 2}"#, DEFAULT_DEPTH).unwrap_err();
/// assert_eq!(refused.to_string(), r#"duplicate key "a" at byte 9"#);
/// ```
pub fn scan(bytes: &[u8], max_depth: usize) -> Result<Json<'_>, ScanError> {
    scan_members(bytes, max_depth, |_, _| ())
}

/// Checks `bytes` as [`scan`] does, and passes each member of the outermost object to `tell`, so that a caller need not search
/// for it again. The members count only if the whole text is valid.
pub(crate) fn scan_members<'a>(
    bytes: &'a [u8],
    max_depth: usize,
    tell: impl FnMut(&str, Json<'a>),
) -> Result<Json<'a>, ScanError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| ScanError { offset: e.valid_up_to(), problem: Problem::NotUtf8 })?;
    // Enough for most messages, so that neither grows step by step.
    let (open, keys) = (Vec::with_capacity(6), Vec::with_capacity(FEW_KEYS));
    let member = None;
    Scanner { text, bytes, at: 0, max_depth, open, keys, member, tell }.run()?;
    Ok(Json::trusted(text.trim_ascii()))
}

/// An array or object that has been entered and not yet left.
struct OpenContainer<'a> {
    is_object: bool,
    /// Where this object's keys begin in `Scanner::keys`.
    keys_from: usize,
    /// Filled once the object has more than [`FEW_KEYS`] keys.
    many: Option<HashSet<Cow<'a, str>>>,
}

struct Scanner<'a, T> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    max_depth: usize,
    open: Vec<OpenContainer<'a>>,
    keys: Vec<Cow<'a, str>>,
    /// The current member of the outermost object: its key, and the offset from which to look for its value.
    member: Option<(Cow<'a, str>, usize)>,
    /// Receives those members.
    tell: T,
}

impl<'a, T: FnMut(&str, Json<'a>)> Scanner<'a, T> {
    fn run(&mut self) -> Result<(), ScanError> {
        loop {
            // A value is expected here.
            self.skip_space();
            let opened = match self.peek() {
                Some(b'{') => {
                    self.enter(true)?;
                    self.skip_space();
                    if self.take(b'}') {
                        self.leave();
                        false
                    } else {
                        self.key()?;
                        true
                    }
                }
                Some(b'[') => {
                    self.enter(false)?;
                    self.skip_space();
                    if self.take(b']') {
                        self.leave();
                        false
                    } else {
                        true
                    }
                }
                _ => {
                    self.scalar()?;
                    false
                }
            };
            if !opened && self.after_value()? {
                return Ok(());
            }
        }
    }

    /// Consumes what follows a finished value, up to the next value. Returns true at the end of the text.
    fn after_value(&mut self) -> Result<bool, ScanError> {
        loop {
            if self.open.len() == 1
                && let Some((key, from)) = self.member.take()
            {
                (self.tell)(&key, Json::trusted(self.text[from..self.at].trim_ascii_start()));
            }
            self.skip_space();
            let Some(top) = self.open.last() else {
                return match self.peek() {
                    None => Ok(true),
                    Some(_) => self.fail("the end of the message"),
                };
            };
            let is_object = top.is_object;
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    if is_object {
                        self.skip_space();
                        self.key()?;
                    }
                    return Ok(false);
                }
                Some(b'}') if is_object => self.leave_at_close(),
                Some(b']') if !is_object => self.leave_at_close(),
                _ => {
                    return self.fail(if is_object { "',' or '}'" } else { "',' or ']'" });
                }
            }
        }
    }

    fn enter(&mut self, is_object: bool) -> Result<(), ScanError> {
        if self.open.len() == self.max_depth {
            return Err(ScanError { offset: self.at, problem: Problem::TooDeep(self.max_depth) });
        }
        self.at += 1;
        self.open.push(OpenContainer { is_object, keys_from: self.keys.len(), many: None });
        Ok(())
    }

    fn leave_at_close(&mut self) {
        self.at += 1;
        self.leave();
    }

    fn leave(&mut self) {
        if let Some(done) = self.open.pop() {
            self.keys.truncate(done.keys_from);
        }
    }

    fn key(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.fail("a key in quotes");
        }
        let escaped = self.string()?;
        let quoted = &self.text[start..self.at];
        let key: Cow<'a, str> = if escaped {
            // The scanner has just checked the escapes, so this cannot fail.
            Cow::Owned(serde_json::from_str(quoted).unwrap_or_default())
        } else {
            Cow::Borrowed(&quoted[1..quoted.len() - 1])
        };
        let outermost = (self.open.len() == 1).then(|| key.clone());
        self.remember(key).map_err(|key| ScanError {
            offset: start,
            problem: Problem::DuplicateKey(key.into_owned()),
        })?;
        self.skip_space();
        if !self.take(b':') {
            return self.fail("':'");
        }
        if let Some(key) = outermost {
            self.member = Some((key, self.at));
        }
        Ok(())
    }

    fn remember(&mut self, key: Cow<'a, str>) -> Result<(), Cow<'a, str>> {
        let Some(object) = self.open.last_mut() else {
            return Ok(());
        };
        if let Some(many) = &mut object.many {
            return if many.contains(&key) {
                Err(key)
            } else {
                many.insert(key);
                Ok(())
            };
        }
        let earlier = &self.keys[object.keys_from..];
        if earlier.contains(&key) {
            return Err(key);
        }
        if earlier.len() == FEW_KEYS {
            let mut many: HashSet<_> = self.keys.drain(object.keys_from..).collect();
            many.insert(key);
            object.many = Some(many);
        } else {
            self.keys.push(key);
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fail("a value"),
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<(), ScanError> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            self.fail("a value")
        }
    }

    fn number(&mut self) -> Result<(), ScanError> {
        self.take(b'-');
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return self.fail("a digit"),
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.fail("a digit") } else { Ok(()) }
    }

    /// Consumes a string in quotes. Returns true if it has an escape.
    fn string(&mut self) -> Result<bool, ScanError> {
        let mut escaped = false;
        self.at += 1;
        loop {
            self.at = super::plain::end_of_plain(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..=0x1f) => return self.fail("no raw control character in a string"),
                Some(_) => self.at += 1,
                None => return self.fail("'\"' at the end of a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), ScanError> {
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                match self.hex4()? {
                    0xD800..=0xDBFF => {
                        let low = self.bytes[self.at..].starts_with(b"\\u") && {
                            self.at += 2;
                            matches!(self.hex4()?, 0xDC00..=0xDFFF)
                        };
                        if low { Ok(()) } else { self.fail("a low surrogate") }
                    }
                    0xDC00..=0xDFFF => self.fail("a high surrogate before a low one"),
                    _ => Ok(()),
                }
            }
            _ => self.fail("a known escape"),
        }
    }

    fn hex4(&mut self) -> Result<u32, ScanError> {
        let mut value = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(16)) else {
                return self.fail("four hexadecimal digits");
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn fail<V>(&self, expected: &'static str) -> Result<V, ScanError> {
        Err(ScanError { offset: self.at, problem: Problem::Syntax(expected) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(text: &str) -> Problem {
        scan(text.as_bytes(), DEFAULT_DEPTH).unwrap_err().problem
    }

    #[test]
    fn duplicate_key_is_found_at_every_level() {
        assert_eq!(problem(r#"{"a":1,"a":2}"#), Problem::DuplicateKey("a".into()));
        assert_eq!(problem(r#"[{"x":{"k":1,"\u006b":2}}]"#), Problem::DuplicateKey("k".into()));
        assert!(scan(br#"[{"a":1},{"a":{"a":2}}]"#, DEFAULT_DEPTH).is_ok());
    }

    #[test]
    fn duplicate_among_many_keys_is_found() {
        let mut text: String = (0..100).map(|i| format!("\"k{i}\":0,")).collect();
        let unique = format!("{{{text}\"last\":{{\"k1\":0}}}}");
        assert!(scan(unique.as_bytes(), DEFAULT_DEPTH).is_ok());
        text.push_str("\"k50\":1");
        assert_eq!(problem(&format!("{{{text}}}")), Problem::DuplicateKey("k50".into()));
    }

    #[test]
    fn depth_is_counted_exactly() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(scan(nested(64).as_bytes(), 64).is_ok());
        assert_eq!(scan(nested(65).as_bytes(), 64).unwrap_err().problem, Problem::TooDeep(64));
    }

    #[test]
    fn json_that_parsers_disagree_about_is_refused() {
        for text in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            "01",
            "1.",
            "+1",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "nul",
            "\"\u{1}\"",
            "1 2",
            "",
            " ",
            "{\"a\":1,}",
            "\"",
            "[",
            "{\"a\":",
            "NaN",
            "'a'",
            "\u{feff}1",
        ] {
            assert!(scan(text.as_bytes(), DEFAULT_DEPTH).is_err(), "{text:?} passed");
        }
        assert_eq!(scan(b"\"\xff\"", 8).unwrap_err().problem, Problem::NotUtf8);
        assert!(scan(r#""\ud83d\ude00""#.as_bytes(), 8).is_ok());
    }

    proptest! {
        /// The reported members are the members that a later search finds.
        #[test]
        fn scan_reports_the_members_of_the_outermost_object(value in crate::json::testing::any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = format!(" {} ", text.unwrap());
            let mut told = Vec::new();
            let whole = scan_members(text.as_bytes(), 100, |key, value| told.push((key.to_owned(), value))).unwrap();
            let found: Vec<_> = whole.entries().map(|(key, value)| (key.into_owned(), value)).collect();
            prop_assert_eq!(told, found);
        }
    }

    proptest! {
        /// The scanner accepts whatever serde_json can write; serde_json reads whatever the scanner accepts.
        #[test]
        fn scan_accepts_everything_that_serde_json_writes(value in crate::json::testing::any_json()) {
            let text = serde_json::to_string_pretty(&value).unwrap();
            prop_assert!(scan(text.as_bytes(), 64).is_ok());
        }

        #[test]
        fn scan_accepts_only_text_that_serde_json_reads(
            text in r#"[\[\]{}:,"\\a0-9.eEu+\- ntrf]{0,24}"#
        ) {
            if scan(text.as_bytes(), 32).is_ok() {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok() || text.contains(['e', 'E']));
            }
        }
    }
}
