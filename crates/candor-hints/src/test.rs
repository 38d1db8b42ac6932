//! One question about one argument.

use serde_json::Value;

use crate::path::{self, Path};

/// What a row asks of an argument's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// It is one of these values.
    OneOf(Vec<Value>),
    /// It is a path at or below this one. Only paths in normal form are compared: names that are separated by one slash each, and
    /// a slash before them if this one has it. Any other text counts as the worst case.
    Below(String),
    /// It is a path that fits this pattern: `*` is any part of one name, `**` any number of names. Compared like [`Below`](Self::Below).
    Glob(String),
    /// It is a number from here to there, both included.
    Range(Option<f64>, Option<f64>),
    /// It is there.
    Present,
    /// It is not there, or `null`.
    Absent,
}

/// What a test finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConditionMatch {
    Yes,
    No,
    /// The value can be read in more than one way, so nothing can be said of it.
    Unclear,
}

impl Condition {
    /// It is this value.
    pub fn equals(value: impl Into<Value>) -> Self {
        Self::OneOf(vec![value.into()])
    }

    /// Whether there are values of which it can say nothing.
    pub(crate) const fn may_be_unclear(&self) -> bool {
        matches!(self, Self::Below(_) | Self::Glob(_))
    }

    /// The values that it names.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let values: &[Value] = if let Self::OneOf(values) = self { values } else { &[] };
        values.iter()
    }

    /// The numbers at which its answer may change.
    pub(crate) fn marks(&self) -> impl Iterator<Item = f64> {
        let bounds = if let Self::Range(from, to) = self { [*from, *to] } else { [None; 2] };
        self.values().filter_map(Value::as_f64).chain(bounds.into_iter().flatten())
    }

    /// Looks at a value that is there, or is not.
    pub(crate) fn look(&self, value: Option<&Value>) -> ConditionMatch {
        let found = match (self, value) {
            (Self::Absent, value) => value.is_none(),
            (Self::Present, value) => value.is_some(),
            (_, None) => false,
            (Self::OneOf(wanted), Some(value)) => wanted.iter().any(|wanted| same(wanted, value)),
            (Self::Range(from, to), Some(value)) => value.as_f64().is_some_and(|number| {
                from.is_none_or(|from| number >= from) && to.is_none_or(|to| number <= to)
            }),
            (Self::Below(place), Some(value)) => return look_at_path(value, place, path::is_below),
            (Self::Glob(pattern), Some(value)) => return look_at_path(value, pattern, path::fits),
        };
        if found { ConditionMatch::Yes } else { ConditionMatch::No }
    }
}

fn look_at_path(
    value: &Value,
    pattern: &str,
    fits: fn(&[&str], &[&str]) -> bool,
) -> ConditionMatch {
    let Some(text) = value.as_str() else { return ConditionMatch::No };
    match (Path::read(text), Path::read(pattern)) {
        // A program may put one below a base folder, and read the other from the root.
        (Ok(path), Ok(pattern)) if path.absolute == pattern.absolute => {
            if fits(&path.names, &pattern.names) { ConditionMatch::Yes } else { ConditionMatch::No }
        }
        _ => ConditionMatch::Unclear,
    }
}

/// The same value, however its numbers are written and its members ordered.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() == b.as_f64() && is_small(a)),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Whether a double tells this number from its neighbours.
fn is_small(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|n| n.abs() <= 9_007_199_254_740_992.0)
}
