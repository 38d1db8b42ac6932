//! Finds the place of a refusal inside a part that serde has copied.
//!
//! serde copies tagged, untagged and flattened values before it reads them, and loses their places. The search replaces every
//! scalar of that part with a mark that no type accepts. serde refuses the first mark that it reads, and the search restores
//! that scalar. This repeats until the original refusal comes back: the scalar that was restored last is the refused one. A
//! second pass in the opposite order tells a scalar from an object that is refused as a whole. A refused name of a member is
//! found first, in [`super::names`].

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::deserializer::{IntegerKeys, Log};
use super::names;
use super::refusal::{Reason, Refusal, take_reasons};
use crate::violation::{Violation, below};

/// Larger parts are reported as a whole, because each pass reads the value once for each scalar.
const SCALARS: usize = 256;
const VALUES: usize = 20_000;

/// A function that reads a value, with or without integer keys. It returns the refusal, if any, and what serde copied.
type Attempt<'f> = dyn Fn(&Value, IntegerKeys) -> (Option<Refusal>, Log) + 'f;

/// Explains why a value cannot be read, and where.
pub(super) fn locate(value: &Value, attempt: &Attempt<'_>) -> Violation {
    let explain = |integer_keys| {
        take_reasons();
        let (refusal, log) = attempt(value, integer_keys);
        let pointer = refusal.as_ref().map(Refusal::pointer).unwrap_or_default();
        let reason = match refusal?.reason {
            Reason::NoAlternative => meant(take_reasons()),
            reason => reason,
        };
        Some((reason, pointer, log, integer_keys))
    };
    // A map whose keys are read in the wrong way is refused for its form.
    let explained = match (explain(IntegerKeys::None), explain(IntegerKeys::OfWholeObjects)) {
        (Some(texts), Some(integers)) if texts.0.is_about_form() && !integers.0.is_about_form() => {
            Some(integers)
        }
        (texts, integers) => texts.or(integers),
    };
    // Beside a key that is no integer, an integer is refused only because its copy is a string.
    let explained = explained.map(|found| match found.0.is_about_a_copied_name() {
        true => explain(IntegerKeys::Each).unwrap_or(found),
        false => found,
    });
    let Some((reason, pointer, log, integer_keys)) = explained else {
        return Violation::new("", "cannot be read, although its parts can");
    };
    let part = value.pointer(&pointer).filter(|part| part.is_object() || part.is_array());
    let search = Search { value, part: &pointer, reason: &reason, attempt, integer_keys };
    let place = part
        .filter(|part| log.is_buffered(part) && has_place(&reason))
        .and_then(|part| search.place(part));
    reason.violation(place.unwrap_or(pointer))
}

/// Returns the reason of the alternative that was meant. The others are refused for their form.
fn meant(reasons: Vec<Reason>) -> Reason {
    // The last reasons are those of the union that failed.
    let meant = reasons
        .into_iter()
        .rev()
        .find(|reason| *reason != Reason::NoAlternative && !reason.is_about_form());
    meant.unwrap_or(Reason::NoAlternative)
}

/// Returns true if a scalar can cause this refusal.
fn has_place(reason: &Reason) -> bool {
    matches!(reason, Reason::Value { .. } | Reason::Said(_) | Reason::Choice { .. })
}

struct Search<'s> {
    value: &'s Value,
    part: &'s str,
    reason: &'s Reason,
    attempt: &'s Attempt<'s>,
    integer_keys: IntegerKeys,
}

impl Search<'_> {
    fn place(&self, part: &Value) -> Option<String> {
        // A type that reads a name elsewhere has no place for the refusal.
        if self.reason.is_about_a_copied_name() || !is_small(self.value, &mut VALUES.clone()) {
            return None;
        }
        let is_refused =
            |value: &Value| self.read(value, self.integer_keys).1.contains(self.reason);
        if let Some(name) = names::refused(self.value, self.part, self.reason, &is_refused) {
            return Some(name);
        }
        let forward = MarkedValue::new(part, self.part, false);
        let backward = MarkedValue::new(part, self.part, true);
        if forward.scalars.len() > SCALARS {
            return None;
        }
        let Some(found) = self.pass(&forward) else { return self.replaced(&forward) };
        // If nothing needs to be restored, no scalar is refused.
        let scalar = found.scalar?;
        let Some(other) = self.pass(&backward) else { return self.if_about(scalar) };
        let other_scalar = other.scalar?;
        // If a scalar is refused while the other one is still a mark, it is refused on its own.
        if scalar == other_scalar || !found.restored.contains(&other_scalar) {
            return self.if_about(scalar);
        }
        Some(common(&scalar, &other_scalar))
    }

    /// Returns a place, unless the refusal is about another value than the one there.
    fn if_about(&self, place: String) -> Option<String> {
        let is_meant = |value: &Value| self.reason.may_be_about(value);
        self.value.pointer(&place).is_some_and(is_meant).then_some(place)
    }

    /// Reads a value. Returns whether it is refused, and all reasons on the way.
    fn read(&self, value: &Value, integer_keys: IntegerKeys) -> (bool, Vec<Reason>) {
        take_reasons();
        let (refusal, _) = (self.attempt)(value, integer_keys);
        (refusal.is_some(), take_reasons())
    }

    /// Restores scalars in the order in which they are read, until the refusal comes back.
    fn pass(&self, marked: &MarkedValue) -> Option<LocatedRefusal> {
        // Values before the refused part may need the other kind of keys.
        let other = match self.integer_keys {
            IntegerKeys::None => IntegerKeys::OfWholeObjects,
            IntegerKeys::OfWholeObjects | IntegerKeys::Each => IntegerKeys::None,
        };
        let modes = [self.integer_keys, other];
        modes.into_iter().find_map(|integer_keys| self.pass_with(marked, integer_keys))
    }

    fn pass_with(&self, marked: &MarkedValue, integer_keys: IntegerKeys) -> Option<LocatedRefusal> {
        let mut value = self.value.clone();
        *value.pointer_mut(self.part)? = marked.part.clone();
        let mut restored = BTreeSet::new();
        let mut last = None;
        loop {
            let (refused, reasons) = self.read(&value, integer_keys);
            if reasons.contains(self.reason) {
                return Some(LocatedRefusal { scalar: last, restored });
            }
            if !refused {
                return None;
            }
            let scalar = marked.scalars.iter().find(|scalar| {
                !restored.contains(&scalar.place)
                    && reasons.iter().any(|reason| reason.mentions(&scalar.mark, scalar.number))
            })?;
            *value.pointer_mut(&scalar.here)? = scalar.value.clone();
            restored.insert(scalar.place.clone());
            last = Some(scalar.place.clone());
        }
    }

    /// Finds the scalar whose replacement ends the refusal, for a part whose marks another alternative accepts.
    fn replaced(&self, marked: &MarkedValue) -> Option<String> {
        let mut places = Vec::new();
        for scalar in &marked.scalars {
            let mut value = self.value.clone();
            *value.pointer_mut(&scalar.place)? = scalar.replacement();
            let (refused, reasons) = self.read(&value, self.integer_keys);
            if !reasons.contains(self.reason) && self.reason.may_be_about(&scalar.value) {
                places.push((refused, scalar.place.clone()));
            }
        }
        // If an earlier scalar is replaced, serde never reaches the refused one. So the last one is refused, unless a single
        // replacement repairs the whole value.
        let repaired = places.iter().find(|(refused, _)| !refused);
        repaired.or(places.last()).map(|(_, place)| place.clone())
    }
}

struct LocatedRefusal {
    /// The scalar that was restored last, if any was.
    scalar: Option<String>,
    restored: BTreeSet<String>,
}

/// A value whose scalars are replaced by marks.
struct MarkedValue {
    part: Value,
    scalars: Vec<Scalar>,
    reversed: bool,
}

struct Scalar {
    /// Its pointer in the value; `here` is its pointer in the marked value.
    place: String,
    here: String,
    value: Value,
    mark: String,
    number: f64,
}

impl Scalar {
    /// Returns a mark of another type than the scalar.
    fn replacement(&self) -> Value {
        if self.value.is_string() { json!(self.number) } else { self.mark.clone().into() }
    }
}

impl MarkedValue {
    fn new(part: &Value, at: &str, reversed: bool) -> Self {
        let mut marked = Self { part: Value::Null, scalars: Vec::new(), reversed };
        marked.part = marked.mark(part, at, at);
        marked
    }

    fn mark(&mut self, value: &Value, place: &str, here: &str) -> Value {
        match value {
            Value::Object(members) => {
                let mut marked: Vec<_> = members
                    .iter()
                    .map(|(name, member)| {
                        (name.clone(), self.mark(member, &below(place, name), &below(here, name)))
                    })
                    .collect();
                if self.reversed {
                    marked.reverse();
                }
                Value::Object(Map::from_iter(marked))
            }
            Value::Array(items) => {
                let mut marked: Vec<_> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| {
                        let now = if self.reversed { items.len() - 1 - index } else { index };
                        let (place, here) = (format!("{place}/{index}"), format!("{here}/{now}"));
                        self.mark(item, &place, &here)
                    })
                    .collect();
                if self.reversed {
                    marked.reverse();
                }
                marked.into()
            }
            scalar => {
                let count = self.scalars.len();
                #[expect(clippy::cast_precision_loss, reason = "a small number")]
                let scalar = Scalar {
                    place: place.to_owned(),
                    here: here.to_owned(),
                    value: scalar.clone(),
                    mark: format!("\u{1}mark {count}\u{1}"),
                    number: 48_611_879.5 + count as f64,
                };
                let replacement = scalar.replacement();
                self.scalars.push(scalar);
                replacement
            }
        }
    }
}

fn is_small(value: &Value, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
        && match value {
            Value::Array(items) => items.iter().all(|item| is_small(item, left)),
            Value::Object(members) => members.values().all(|member| is_small(member, left)),
            _ => true,
        }
}

/// Returns the pointer of the smallest part that contains both.
fn common(first: &str, second: &str) -> String {
    let shared = first.split('/').zip(second.split('/')).take_while(|(a, b)| a == b);
    shared.map(|(segment, _)| segment).collect::<Vec<_>>().join("/")
}
