//! What is wrong with a value, and where.

use std::fmt;

/// Values are quoted in violations up to this many characters.
const QUOTED: usize = 200;

/// One thing wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer to the offending part, also to one that is missing; empty for the whole.
    pub pointer: String,
    /// What was expected there, what was received, and what to do.
    pub problem: String,
}

impl Violation {
    /// A problem at a JSON Pointer.
    #[must_use]
    pub fn new(pointer: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), problem: problem.into() }
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
