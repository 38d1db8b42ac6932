//! Equality of values, for `const`, `enum` and `uniqueItems`.
//!
//! Numbers are equal by value, not by spelling: 1 is 1.0. The order of members does not matter.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::{Map, Value};

use super::numbers::Exact;
use super::run::Run;

/// Up to this many items are compared one by one; more are sorted by hash.
const FEW: usize = 12;

/// The values that an `enum` allows.
pub(super) struct Options {
    /// Sorted, so that a hostile list of names does not cost a comparison with each.
    strings: Box<[Box<str>]>,
    others: Box<[Value]>,
    /// The cost of comparing with all others, in steps.
    weight: usize,
}

impl Options {
    pub(super) fn new(options: &[Value]) -> Self {
        let mut strings: Vec<Box<str>> =
            options.iter().filter_map(Value::as_str).map(Into::into).collect();
        strings.sort_unstable();
        let others: Box<[Value]> =
            options.iter().filter(|option| !option.is_string()).cloned().collect();
        let weight = others.iter().map(size).sum::<usize>() / 8;
        Self { strings: strings.into(), others, weight }
    }

    pub(super) fn hold(&self, value: &Value, run: &mut Run) -> bool {
        if let Value::String(text) = value {
            run.charge(text.len() / 64);
            return self.strings.binary_search_by(|option| (**option).cmp(text)).is_ok();
        }
        run.charge(self.weight);
        self.others.iter().any(|option| equal(option, value))
    }
}

/// Returns true if two values are equal. Costs no more than the smaller one.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Exact::of(a).order(Exact::of(b)) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => equal_members(a, b),
        _ => a == b,
    }
}

fn equal_members(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        Value::String(text) => 1 + text.len() / 64,
        _ => 1,
    }
}

/// Returns true if no two items are equal.
pub(super) fn all_differ(items: &[Value], run: &mut Run) -> bool {
    let short = |item: &Value| match item {
        Value::Array(_) | Value::Object(_) => false,
        Value::String(text) => text.len() <= 64,
        _ => true,
    };
    if items.len() <= FEW && items.iter().all(short) {
        let mut rest = items;
        while let Some((first, others)) = rest.split_first() {
            if others.iter().any(|other| equal(first, other)) {
                return false;
            }
            rest = others;
        }
        return true;
    }
    // The keys are random, so that no caller can construct values whose hashes collide.
    let keys = RandomState::new();
    let mut hashes: Vec<(u64, &Value)> = Vec::with_capacity(items.len());
    for item in items {
        let mut hasher = keys.build_hasher();
        let looked_at = hash(item, &mut hasher, &keys);
        run.charge(looked_at);
        hashes.push((hasher.finish(), item));
    }
    hashes.sort_unstable_by_key(|(hash, _)| *hash);
    !hashes.windows(2).any(|pair| pair[0].0 == pair[1].0 && equal(pair[0].1, pair[1].1))
}

/// Feeds a value to a hasher. Returns the cost in steps.
fn hash(value: &Value, hasher: &mut impl Hasher, keys: &RandomState) -> usize {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => 1,
        Value::Bool(flag) => {
            flag.hash(hasher);
            1
        }
        Value::Number(number) => {
            match Exact::of(number) {
                Exact::Whole(whole) => whole.hash(hasher),
                Exact::Double(double) => double.to_bits().hash(hasher),
            }
            1
        }
        Value::String(text) => {
            text.hash(hasher);
            1 + text.len() / 64
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            1 + items.iter().map(|item| hash(item, hasher, keys)).sum::<usize>()
        }
        Value::Object(members) => {
            // Members have no order, so their hashes are added up.
            let (mut sum, mut looked_at) = (0_u64, 1);
            for (name, member) in members {
                let mut one = keys.build_hasher();
                name.hash(&mut one);
                looked_at += hash(member, &mut one, keys);
                sum = sum.wrapping_add(one.finish());
            }
            sum.hash(hasher);
            looked_at
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equality_ignores_number_spelling_and_member_order() {
        let same = [
            (json!(1), json!(1.0)),
            (json!({"a": [0], "b": 1}), json!({"b": 1.0, "a": [-0.0]})),
            (json!(1e300), json!(1e300)),
        ];
        for (a, b) in same {
            assert!(equal(&a, &b), "{a} {b}");
            let mut items: Vec<Value> = (10..30).map(Value::from).collect();
            assert!(all_differ(&items, &mut Run::new()));
            items.extend([a, b]);
            assert!(!all_differ(&items, &mut Run::new()));
        }
        assert!(!equal(&json!(1), &json!(true)));
        assert!(!equal(&json!(0), &json!(false)));
        assert!(!equal(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992.0)));
    }
}
