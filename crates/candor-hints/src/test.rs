//! Tests of one argument, and their results.

use serde_json::Value;

use crate::path::{self, Path};

/// A test of an argument's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// It is one of these values.
    OneOf(Vec<Value>),
    /// It is this path or inside it. Only paths in normal form are compared: names separated by one slash each, with a slash before
    /// them if this path has one. Any other text counts as the worst case.
    Below(String),
    /// It is a path that matches this pattern: `*` is any part of one name, `**` any number of names. Compared like
    /// [`Below`](Self::Below).
    Glob(String),
    /// It is a number in this range, both ends included. A missing end is no limit.
    Range(Option<f64>, Option<f64>),
    /// It is present.
    Present,
    /// It is absent, or `null`.
    Absent,
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ConditionMatch {
    Yes,
    No,
    /// Programs may read the value in more than one way, so the test has no result.
    Unclear,
}

impl Condition {
    /// Creates the test for one value.
    pub fn equals(value: impl Into<Value>) -> Self {
        Self::OneOf(vec![value.into()])
    }

    /// Returns true if the result is unclear for some values.
    pub(crate) const fn may_be_unclear(&self) -> bool {
        matches!(self, Self::Below(_) | Self::Glob(_))
    }

    /// Returns the values that the test names.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        let values: &[Value] = if let Self::OneOf(values) = self { values } else { &[] };
        values.iter()
    }

    /// Returns the numbers at which the result may change.
    pub(crate) fn marks(&self) -> impl Iterator<Item = f64> {
        let bounds = if let Self::Range(from, to) = self { [*from, *to] } else { [None; 2] };
        self.values().filter_map(Value::as_f64).chain(bounds.into_iter().flatten())
    }

    /// Tests a value. `None` is a missing one.
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
        // A program may resolve one against a base folder, and the other against the root.
        (Ok(path), Ok(pattern)) if path.absolute == pattern.absolute => {
            if fits(&path.names, &pattern.names) { ConditionMatch::Yes } else { ConditionMatch::No }
        }
        _ => ConditionMatch::Unclear,
    }
}

/// Returns true if two values are equal, however their numbers are written and their members ordered.
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

/// Returns true if a double tells this number from its neighbors.
fn is_small(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|n| n.abs() <= 9_007_199_254_740_992.0)
}
