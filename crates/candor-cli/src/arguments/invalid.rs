//! Why arguments are invalid: what is wrong, where, and what to write instead.

use std::fmt;

use candor_schema::Violation;

use crate::exit::{Exit, Failure};
use crate::signature::{Tool, named};
use crate::width::cut;

/// One problem with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentProblem {
    /// The parameter, as written on a command line; empty if the problem is about all of them.
    pub(crate) place: String,
    pub(crate) what: String,
    /// What to write instead; empty if `what` already says it.
    pub(crate) right: String,
}

impl ArgumentProblem {
    pub(super) fn new(place: &str, what: impl Into<String>, right: impl Into<String>) -> Self {
        Self { place: place.to_owned(), what: what.into(), right: right.into() }
    }
}

/// Invalid arguments. Nothing was sent.
#[derive(Debug)]
pub(crate) struct Invalid {
    pub(crate) problems: Vec<ArgumentProblem>,
    tool: String,
    signature: String,
}

/// The maximum width of a message and of the signature, in columns.
const LETTERS: usize = 300;
const WIDTH: usize = 160;

impl Invalid {
    pub(super) fn new(problems: Vec<ArgumentProblem>, tool: &Tool<'_>) -> Self {
        Self { problems, tool: cut(tool.name, 64), signature: tool.signature(WIDTH) }
    }

    /// Reports what the tool's schema finds wrong with arguments that could be parsed, in the form of the other problems.
    pub(crate) fn found(by_schema: &candor_schema::Invalid, tool: &Tool<'_>) -> Self {
        let problem = |violation: &Violation| {
            let place = violation.pointer.trim_start_matches('/').replace('/', ".");
            ArgumentProblem::new(&place, marked(violation), "")
        };
        Self::new(by_schema.violations.iter().map(problem).collect(), tool)
    }
}

/// Returns the problem. A pattern or a format is the server's text, and is in quotes unless it is a word.
fn marked(violation: &Violation) -> String {
    let Violation { problem, expected, .. } = violation;
    let tail = expected.as_deref().and_then(|expected| {
        ["a string that matches ", "a string of format "]
            .iter()
            .find_map(|words| expected.strip_prefix(words))
    });
    match tail {
        Some(text) if !text.is_empty() => problem.replacen(text, &named(text), 1),
        _ => problem.clone(),
    }
}

/// Makes untrusted names and values safe to show, once for all problems.
impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nothing was run. The arguments of {} are invalid:", self.tool)?;
        for ArgumentProblem { place, what, right } in &self.problems {
            write!(f, "\n  ")?;
            if !place.is_empty() {
                write!(f, "{}: ", named(place))?;
            }
            write!(f, "{}", cut(what, LETTERS))?;
            if !right.is_empty() {
                write!(f, "; {}", cut(right, LETTERS))?;
            }
        }
        write!(f, "\n{}", self.signature)
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::new(Exit::Invalid, invalid)
    }
}
