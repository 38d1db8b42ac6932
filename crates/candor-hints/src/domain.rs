//! The values that an argument can have, and which of them the tests of a table tell apart.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::language;
use crate::test::{Condition, ConditionMatch};

/// The values that an argument can have: all of them, and perhaps more if the exact set is unknown.
#[derive(Debug, Clone, Default)]
pub struct Domain {
    /// What is known of each [step](crate::Pointer::steps) to the argument. A step that is not listed may be missing or `null`.
    pub steps: Vec<Step>,
    /// The values that callers can send.
    pub given: Vec<ValueClass>,
}

/// A step on the path to an argument.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// A caller can leave it out.
    pub missing: bool,
    /// A caller can send `null`.
    pub null: bool,
}

/// Values that share a description.
#[derive(Clone)]
pub struct ValueClass {
    /// These values and no others.
    pub listed: Option<Vec<Value>>,
    /// `true` and `false`.
    pub booleans: bool,
    /// Numbers.
    pub numbers: Option<Numbers>,
    /// Strings, by their number of characters.
    pub strings: Option<Lengths>,
    /// Arrays and objects.
    pub others: bool,
    /// Returns true if the value is one of them.
    pub accepts: Arc<dyn Fn(&Value) -> bool + Send + Sync>,
}

/// A range of numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers {
    /// No number is smaller.
    pub least: Option<f64>,
    /// No number is larger.
    pub greatest: Option<f64>,
    /// All are whole multiples of this whole number.
    pub step: Option<f64>,
}

/// A range of lengths, in characters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lengths {
    /// No string is shorter.
    pub least: usize,
    /// No string is longer.
    pub greatest: Option<usize>,
}

impl Lengths {
    /// Returns true if a string has such a length.
    #[must_use]
    pub fn has_any(&self) -> bool {
        self.greatest.is_none_or(|greatest| self.least <= greatest)
    }
}

/// The result of each test, for values that no test tells apart.
pub(crate) type Cell = Vec<ConditionMatch>;

impl Domain {
    /// Returns the domain of an argument that may have any value, or none.
    #[must_use]
    pub fn anything() -> Self {
        Self { steps: Vec::new(), given: vec![ValueClass::anything()] }
    }

    pub(crate) fn step(&self, at: usize) -> Step {
        self.steps.get(at).copied().unwrap_or(Step { missing: true, null: true })
    }
}

impl ValueClass {
    /// Returns the class of all values.
    #[must_use]
    pub fn anything() -> Self {
        Self {
            listed: None,
            booleans: true,
            numbers: Some(Numbers::default()),
            strings: Some(Lengths::default()),
            others: true,
            accepts: Arc::new(|_| true),
        }
    }

    /// Adds the cells of these values. Returns false if that takes too long.
    pub(crate) fn cells(&self, tests: &[&Condition], cells: &mut Vec<Cell>) -> bool {
        let look = |value: &Value| -> Cell { tests.iter().map(|t| t.look(Some(value))).collect() };
        let accepted = |value: &&Value| !value.is_null() && (self.accepts)(value);
        if let Some(listed) = &self.listed {
            cells.extend(listed.iter().filter(accepted).map(look));
            return true;
        }
        let named = || tests.iter().flat_map(|test| test.values());
        let is_of_kind = |value: &&Value| match value {
            Value::String(_) => self.strings.is_some(),
            Value::Number(_) => self.numbers.is_some(),
            Value::Array(_) | Value::Object(_) => self.others,
            Value::Null | Value::Bool(_) => false,
        };
        cells.extend(named().filter(is_of_kind).filter(accepted).map(look));
        if self.booleans {
            cells.extend([Value::Bool(false), Value::Bool(true)].iter().filter(accepted).map(look));
        }
        if self.others {
            let other = |test: &&Condition| {
                if **test == Condition::Present { ConditionMatch::Yes } else { ConditionMatch::No }
            };
            cells.push(tests.iter().map(other).collect());
        }
        if let Some(numbers) = &self.numbers {
            self.add_numbers(*numbers, tests, cells);
        }
        match self.strings {
            None => true,
            Some(lengths) => match language::cells(tests, lengths) {
                None => false,
                Some(found) => {
                    cells.extend(found);
                    true
                }
            },
        }
    }

    /// Adds the cells of numbers that no test lists: those at a mark, and those between two. Marks are bounds and tested numbers.
    fn add_numbers(&self, numbers: Numbers, tests: &[&Condition], cells: &mut Vec<Cell>) {
        let mut marks: Vec<f64> = tests
            .iter()
            .flat_map(|test| test.marks())
            .chain([numbers.least, numbers.greatest].into_iter().flatten())
            .filter(|mark| !mark.is_nan())
            .collect();
        marks.sort_by(f64::total_cmp);
        marks.dedup();
        // A number outside the range stays outside when both are rounded.
        let is_inside = |mark: f64| {
            numbers.least.is_none_or(|least| mark >= least)
                && numbers.greatest.is_none_or(|greatest| mark <= greatest)
        };
        for mark in marks.iter().filter(|mark| mark.is_finite() && is_inside(**mark)) {
            let value = Value::from(*mark);
            if is_exact(*mark) {
                if (self.accepts)(&value) {
                    cells.push(tests.iter().map(|test| test.look(Some(&value))).collect());
                }
            } else {
                // Several numbers round to this one, and a test that names one does not match the others.
                cells.push(tests.iter().map(|test| test.look(Some(&value))).collect());
                let other = |test: &&Condition| match test {
                    Condition::OneOf(_) => ConditionMatch::No,
                    test => test.look(Some(&value)),
                };
                cells.push(tests.iter().map(other).collect());
            }
        }
        let ends = [f64::NEG_INFINITY].into_iter().chain(marks.iter().copied());
        for (from, to) in ends.zip(marks.iter().copied().chain([f64::INFINITY])) {
            if let Some(between) = numbers.between(from, to) {
                let value = Value::from(between);
                cells.push(tests.iter().map(|test| test.look(Some(&value))).collect());
            }
        }
    }
}

impl Numbers {
    /// Returns a number that represents those between two marks. Returns `None` if there are none.
    fn between(&self, from: f64, to: f64) -> Option<f64> {
        let outside = self.least.is_some_and(|least| to <= least)
            || self.greatest.is_some_and(|greatest| from >= greatest);
        if outside {
            return None;
        }
        if let Some(step) = self.step.filter(|step| *step >= 1.0)
            && is_exact(from)
            && is_exact(to)
            && is_exact(step)
            && ((from / step).floor() + 1.0) * step >= to
        {
            return None;
        }
        let (from, to) = (from.max(f64::MIN), to.min(f64::MAX));
        let middle = from / 2.0 + to / 2.0;
        (from < middle && middle < to).then_some(middle)
    }
}

/// Returns true if no other number rounds to this one.
fn is_exact(number: f64) -> bool {
    number.abs() < 9_007_199_254_740_992.0
}

impl fmt::Debug for ValueClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("listed", &self.listed)
            .field("booleans", &self.booleans)
            .field("numbers", &self.numbers)
            .field("strings", &self.strings)
            .field("others", &self.others)
            .finish_non_exhaustive()
    }
}
