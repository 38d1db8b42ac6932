//! What is wrong with a value, and where.

use std::fmt;

use serde_json::Value;

/// Values are quoted in violations up to this many characters.
const QUOTED: usize = 200;

/// One thing wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// JSON Pointer to the offending part, also to one that is missing; empty for the whole.
    pub pointer: String,
    /// What was expected there, what was received, and what to do.
    pub problem: String,
    /// What was expected there, by itself: `at least 1`; none where that cannot be said.
    pub expected: Option<String>,
    /// The values that are allowed there, all of them; empty if they cannot be listed.
    pub valid_values: Vec<Value>,
    /// The schema's keyword that refuses the value; `schema` if the schema itself is invalid. None if no keyword refuses it.
    pub keyword: Option<&'static str>,
}

impl Violation {
    /// A problem at a JSON Pointer.
    #[must_use]
    pub fn new(pointer: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            problem: problem.into(),
            expected: None,
            valid_values: Vec::new(),
            keyword: None,
        }
    }

    /// That no value fits a schema that cannot be used.
    #[must_use]
    pub fn of_schema(problem: impl Into<String>) -> Self {
        Self { keyword: Some("schema"), ..Self::new("", problem) }
    }

    /// What was expected there, for programs; the problem says it too.
    ///
    /// ```
    /// use candor_schema::Violation;
    ///
    /// let violation = Violation::new("/unit", "expected \"m\" or \"ft\", received \"mm\"")
    ///     .expecting("\"m\" or \"ft\"")
    ///     .allowing(["m".into(), "ft".into()]);
    /// assert_eq!(violation.expected.as_deref(), Some("\"m\" or \"ft\""));
    /// assert_eq!(violation.valid_values, ["m", "ft"]);
    /// ```
    #[must_use]
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// All values that are allowed there.
    #[must_use]
    pub fn allowing(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.valid_values = values.into_iter().collect();
        self
    }
}

/// Everything that is wrong with a value, at most twenty things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// In the order in which the schema finds them; never empty.
    pub violations: Vec<Violation>,
}

impl From<Violation> for Invalid {
    fn from(violation: Violation) -> Self {
        Self { violations: vec![violation] }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.violations.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            if !violation.pointer.is_empty() {
                write!(f, "{}: ", violation.pointer)?;
            }
            f.write_str(&violation.problem)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// The JSON Pointer of a member of what `parent` points to.
pub(crate) fn below(parent: &str, member: &str) -> String {
    format!("{parent}/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// A text that fits into a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
