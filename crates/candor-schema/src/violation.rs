//! Violations: what is wrong with a value, and where.

use std::fmt;

use serde_json::Value;

/// Values are quoted in violations up to this many characters.
const QUOTED: usize = 200;

/// One problem with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// JSON Pointer to the offending part, even if that part is missing. Empty for the whole value.
    pub pointer: String,
    /// What was expected there, what was received, and what to do.
    pub problem: String,
    /// What was expected there, on its own, such as `at least 1`. `None` if it cannot be said that briefly.
    pub expected: Option<String>,
    /// All values that are allowed there. Empty if they cannot be listed.
    pub valid_values: Vec<Value>,
    /// The schema keyword that refuses the value; `schema` if the schema itself is invalid. `None` if no keyword refuses it.
    pub keyword: Option<&'static str>,
}

impl Violation {
    /// Creates a violation at a JSON Pointer.
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

    /// Creates the violation for a schema that cannot be used, so that every value is invalid.
    #[must_use]
    pub fn of_schema(problem: impl Into<String>) -> Self {
        Self { keyword: Some("schema"), ..Self::new("", problem) }
    }

    /// Sets what was expected there, for programs. The problem says it, too.
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

    /// Sets all values that are allowed there.
    #[must_use]
    pub fn allowing(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.valid_values = values.into_iter().collect();
        self
    }
}

/// The violations of a value, at most twenty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// In the order in which the check finds them. Never empty.
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

/// Returns the JSON Pointer of a member of the value at `parent`.
pub(crate) fn below(parent: &str, member: &str) -> String {
    format!("{parent}/{}", member.replace('~', "~0").replace('/', "~1"))
}

/// Shortens a text for a message.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
