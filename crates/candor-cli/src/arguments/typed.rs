//! Converts text to the value that a schema asks for.

use candor_schema::nearest;
use serde_json::Value;

use super::exact;
use crate::shape::{Alternative, Kinds, Shape};
use crate::signature::named;

/// The maximum width of a text that a message repeats, in columns.
const LETTERS: usize = 40;

/// The maximum number of choices that a message lists.
const CHOICES: usize = 20;

/// Returns the value. If several kinds are allowed, the narrowest wins: a choice, `null`, `true` or `false`, a number, JSON in
/// brackets, and text last. A parameter that allows only text takes any text as it is. The error says what is wrong, and what to
/// write instead.
pub(crate) fn value(shape: &Shape<'_>, text: &str) -> Result<Value, (String, String)> {
    let mut choices: Vec<&Value> = Vec::new();
    let mut kinds = Kinds::NONE;
    for way in &shape.ways {
        match way.choices() {
            Some(listed) => choices.extend(listed),
            None => kinds = kinds | way.kinds,
        }
    }
    let received = || format!("received {}", crate::width::cut(&format!("{text:?}"), LETTERS));
    let parsed = exact::json(text);
    let same = |choice: &&&Value| match choice {
        Value::String(choice) => choice == text,
        other => parsed.as_ref().is_ok_and(|parsed| parsed == **other),
    };
    if let Some(choice) = choices.iter().find(same) {
        return Ok((*choice).clone());
    }
    if kinds == Kinds::NONE {
        let texts = choices.iter().filter_map(|choice| choice.as_str());
        let right = match nearest(text, texts) {
            Some(meant) => format!("did you mean {}?", named(meant)),
            None => format!("write one of {}", listed(&choices, ", ")),
        };
        return Err((received(), right));
    }
    if text == "null" && kinds.has(Kinds::NULL) {
        return Ok(Value::Null);
    }
    if let (true, Some(truth)) = (kinds.has(Kinds::BOOLEAN), truth(text)) {
        return Ok(truth.into());
    }
    let is_number = exact::is_number(text);
    if is_number && kinds.has(Kinds::INTEGER) {
        let whole = !text.contains(['.', 'e', 'E']);
        match parsed {
            Ok(number) if whole || kinds.has(Kinds::FRACTION) => return Ok(number),
            // If text is allowed, the number becomes text, which keeps every digit.
            Err(what) if !kinds.has(Kinds::STRING) => {
                return Err((what, "the server would not receive it as written".to_owned()));
            }
            _ => {}
        }
    } else if let Some(open) = text.trim_start().chars().next() {
        let listed =
            (open == '[' && kinds.has(Kinds::ARRAY)) || (open == '{' && kinds.has(Kinds::OBJECT));
        match parsed {
            Ok(value) if listed => return Ok(value),
            Err(what) if listed && !kinds.has(Kinds::STRING) => {
                return Err((what, format!("write {}", placeholder(shape))));
            }
            _ => {}
        }
    }
    if kinds.has(Kinds::STRING) {
        return Ok(text.into());
    }
    // A single item becomes a list of one, but only once: lists of lists could nest without end.
    if kinds.has(Kinds::ARRAY) && !text.is_empty() {
        let item = shape.item().without(Kinds::ARRAY);
        if !item.ways.is_empty() {
            return value(&item, text).map(|item| vec![item].into());
        }
    }
    Err((received(), format!("write {}", placeholder(shape))))
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Joins the choices for a message. They are the server's text, so a string goes through `named`.
fn listed(choices: &[&Value], between: &str) -> String {
    let shown = |choice: &&Value| choice.as_str().map_or_else(|| choice.to_string(), named);
    let mut words: Vec<_> = choices.iter().take(CHOICES).map(shown).collect();
    if choices.len() > CHOICES {
        words.push("…".to_owned());
    }
    words.join(between)
}

/// Returns the placeholder for a value in a message.
pub(crate) fn placeholder(shape: &Shape<'_>) -> String {
    let choices: Vec<_> = shape.ways.iter().filter_map(Alternative::choices).flatten().collect();
    if !choices.is_empty() {
        return listed(&choices, "|");
    }
    let kinds = shape.kinds();
    let words = [
        (Kinds::ANY, "VALUE"),
        (Kinds::STRING, "TEXT"),
        (Kinds::INTEGER | Kinds::FRACTION, "NUMBER"),
        (Kinds::INTEGER, "INTEGER"),
        (Kinds::BOOLEAN, "true|false"),
        (Kinds::ARRAY, "'[…]'"),
        (Kinds::OBJECT, "'{…}'"),
        (Kinds::NULL, "null"),
    ];
    words.iter().find(|(kind, _)| kinds.has(*kind)).map_or("VALUE", |(_, word)| word).to_owned()
}
