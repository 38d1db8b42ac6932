//! The messages for the author of an effect table with a mistake in a row.

use candor_hints::{Condition, Domain, EffectTable, Numbers, Pointer, RowFlaw, RowReach};
use candor_schema::nearest;
use serde_json::Value;

/// Maximum number of values that a message lists.
const LISTED: usize = 12;

/// Returns the message for a row that asks about an argument that does not exist.
pub(super) fn unknown(row: usize, step: &Pointer, names: &[String]) -> String {
    let meant = nearest(&step.name(), names.iter().map(String::as_str));
    let hint = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    format!("row {} of its effects asks about {step}, which is no argument{hint}", row + 1)
}

/// Returns the message for a row that no call matches first, whichever alternative of the schema its arguments have.
pub(super) fn out_of_form(table: &EffectTable, number: usize, reach: RowReach) -> String {
    let place =
        format!("row {} of its effects (`{}`)", number + 1, table.rows()[number].condition());
    match reach {
        RowReach::Later => format!(
            "{place} never matches: rows before it take every such call. Remove it, or move it up"
        ),
        RowReach::Never | RowReach::First => {
            format!("{place} never matches: no call passes all of its tests together")
        }
    }
}

/// Returns the message for a mistake: what is wrong with the row, what its argument can be, and what was probably meant.
pub(super) fn explain(
    table: &EffectTable,
    number: usize,
    flaw: &RowFlaw<'_>,
    domain: impl Fn(&Pointer) -> Domain,
) -> String {
    let row = &table.rows()[number];
    let place = format!("row {} of its effects (`{}`)", number + 1, row.condition());
    match flaw {
        RowFlaw::Pattern { at, problem, .. } => format!(
            "{place}: the pattern for {at} is no path in normal form: {problem}. Write /a/b for absolute paths, a/b for relative ones"
        ),
        RowFlaw::Test { at, test } => {
            let named = if let Condition::OneOf(values) = test { values.first() } else { None };
            let (values, meant) = allowed(&domain(at), named);
            format!(
                "{place} never matches: no call has `{}`. Values of {at}: {values}{meant}",
                test.describe(at)
            )
        }
        RowFlaw::Value { at, value } => {
            let (values, meant) = allowed(&domain(at), Some(value));
            format!("{place}: {at} is never {value}. Values of {at}: {values}{meant}")
        }
        RowFlaw::Contradiction { at } => {
            let (values, _) = allowed(&domain(at), None);
            format!(
                "{place} never matches: its tests of {at} exclude each other. Values of {at}: {values}"
            )
        }
        RowFlaw::Covered { by } => {
            let earlier: Vec<String> = by.iter().map(|row| (row + 1).to_string()).collect();
            let (rows, take) = if let [_] = by[..] { ("row", "takes") } else { ("rows", "take") };
            format!(
                "{place} never matches: {rows} {} before it {take} every such call. Remove it, or move it up",
                earlier.join(", ")
            )
        }
    }
}

/// Returns a range of numbers in words.
fn range(numbers: Numbers) -> String {
    // The bounds of `i64`. The upper one is not exact as a double.
    if let (Some(least), Some(greatest)) = (numbers.least, numbers.greatest)
        && numbers.step.is_some()
        && [least, -greatest].iter().all(|end| end.to_bits() == (-2_f64.powi(63)).to_bits())
    {
        return "64-bit integers".to_owned();
    }
    let kind = if numbers.step.is_some() { "integers" } else { "numbers" };
    let from = numbers.least.map(|least| format!(" from {least}")).unwrap_or_default();
    let to = numbers.greatest.map(|greatest| format!(" to {greatest}")).unwrap_or_default();
    format!("{kind}{from}{to}")
}

/// Returns the values that an argument can have, in words, and a suggestion for the value that was written.
fn allowed(domain: &Domain, written: Option<&Value>) -> (String, String) {
    let mut words: Vec<String> = Vec::new();
    let mut listed: Vec<&str> = Vec::new();
    let mut say = |word: String| {
        if !words.contains(&word) {
            words.push(word);
        }
    };
    for given in &domain.given {
        if let Some(values) = &given.listed {
            for value in values.iter().filter(|value| !value.is_null() && (given.accepts)(value)) {
                say(value.to_string());
                listed.extend(value.as_str());
            }
            continue;
        }
        if given.booleans {
            say("true".to_owned());
            say("false".to_owned());
        }
        if let Some(numbers) = &given.numbers {
            say(range(*numbers));
        }
        if let Some(lengths) = &given.strings {
            let most = lengths.greatest.map(|most| format!(" of at most {most} characters"));
            say(format!("strings{}", most.unwrap_or_default()));
        }
        if given.others {
            say("arrays or objects".to_owned());
        }
    }
    if domain.steps.iter().any(|step| step.missing || step.null) {
        say("left out".to_owned());
    }
    let more = words.len().saturating_sub(LISTED);
    words.truncate(LISTED);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    let meant = match written {
        Some(Value::Null) => {
            Some("null counts as left out: ask whether the argument is absent".to_owned())
        }
        Some(Value::String(text)) => nearest(text, listed.iter().copied())
            .filter(|name| name != text)
            .map(|name| format!("did you mean {name:?}?")),
        _ => None,
    };
    (words.join(", "), meant.map(|meant| format!("; {meant}")).unwrap_or_default())
}
