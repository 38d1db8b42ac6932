//! Why a type refuses a value, in JSON terms: without names of Rust types or positions in a text.

use std::cell::RefCell;
use std::fmt;

use serde::de::{self, Expected, Unexpected};
use serde_json::Value;

use super::deserializer::integer;
use crate::violation::{Violation, below, shorten};
use crate::words::{counted, one_of, quoted};

/// A refusal, with its place as far as it is known.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    /// The members and items that lead to it, innermost first.
    path: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reason {
    /// The value is of another type, or not among the values of the type.
    Value {
        received: Received,
        expected: String,
        is_type: bool,
    },
    /// The number of items is wrong.
    Length {
        count: usize,
        expected: String,
    },
    /// The value is none of the names of a choice.
    Choice {
        received: String,
        known: &'static [&'static str],
    },
    Unknown {
        name: String,
        known: &'static [&'static str],
    },
    Missing {
        name: String,
    },
    /// No alternative matches, and each has its own reason.
    NoAlternative,
    /// A 128-bit integer in serde's copy, whatever its value is.
    Wide,
    /// A message of the type itself.
    Said(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Received {
    Float(f64),
    Text(String),
    Other(String),
}

thread_local! {
    /// Every reason since the last [`take_reasons`]. serde drops the reasons of alternatives.
    static REASONS: RefCell<Vec<Reason>> = const { RefCell::new(Vec::new()) };
}

/// Takes all reasons that serde has reported on this thread since the last call.
pub(super) fn take_reasons() -> Vec<Reason> {
    REASONS.take()
}

impl Refusal {
    fn new(reason: Reason) -> Self {
        REASONS.with_borrow_mut(|reasons| reasons.push(reason.clone()));
        Self { reason, path: Vec::new() }
    }

    /// Adds the member or item that holds the refused value to the path.
    pub(super) fn inside(mut self, segment: impl Into<String>) -> Self {
        self.path.push(segment.into());
        self
    }

    /// Adds the name of a member whose name is refused.
    pub(super) fn of_name(self, name: &str) -> Self {
        match self.reason {
            // The reason holds the name already.
            Reason::Unknown { .. } => self,
            _ => self.inside(name),
        }
    }

    pub(super) fn pointer(&self) -> String {
        self.path.iter().rev().fold(String::new(), |pointer, segment| below(&pointer, segment))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason.clone().violation(String::new()).problem)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Reason::of_message(&message.to_string()))
    }

    fn invalid_type(received: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (received, expected) = (received.into(), expected.to_string());
        Self::new(Reason::Value { received, expected, is_type: true })
    }

    fn invalid_value(received: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (received, expected) = (received.into(), expected.to_string());
        Self::new(Reason::Value { received, expected, is_type: false })
    }

    fn invalid_length(count: usize, expected: &dyn Expected) -> Self {
        Self::new(Reason::Length { count, expected: expected.to_string() })
    }

    fn unknown_variant(received: &str, known: &'static [&'static str]) -> Self {
        Self::new(Reason::Choice { received: received.to_owned(), known })
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(Reason::Unknown { name: name.to_owned(), known })
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(Reason::Missing { name: name.to_owned() })
    }
}

impl Reason {
    fn of_message(message: &str) -> Self {
        let names_no_alternative = ["data did not match any variant of", "no variant of enum "];
        if names_no_alternative.iter().any(|known| message.starts_with(known)) {
            return Self::NoAlternative;
        }
        if message.starts_with("overflow deserializing ") {
            return Self::Said("too large".to_owned());
        }
        if ["u128 is not supported", "i128 is not supported"].contains(&message) {
            return Self::Wide;
        }
        if message.starts_with("can only flatten structs and maps") {
            return Self::Said("expected an object".to_owned());
        }
        let message = without_position(message);
        for (start, is_type) in [("invalid type: ", true), ("invalid value: ", false)] {
            if let Some((received, expected)) =
                message.strip_prefix(start).and_then(|rest| rest.split_once(", expected "))
            {
                let received = Received::Other(received.replace('`', ""));
                return Self::Value { received, expected: expected.to_owned(), is_type };
            }
        }
        Self::Said(shorten(message))
    }

    /// Returns true if the value has another form than the type reads. A value that its schema accepts has the right form, so
    /// another alternative was meant.
    pub(super) fn is_about_form(&self) -> bool {
        match self {
            // The schema of `i64` accepts a float that no integer can hold.
            Self::Value { received: Received::Float(_), expected, .. } => width(expected).is_none(),
            Self::Value { is_type, .. } => *is_type,
            Self::Wide | Self::Said(_) => false,
            _ => true,
        }
    }

    /// Returns true if serde refuses its copy of a name only because the copy is a string: the type reads such a name elsewhere.
    pub(super) fn is_about_a_copied_name(&self) -> bool {
        match self {
            Self::Value { received: Received::Text(name), expected, is_type: true } => {
                (width(expected).is_some() && integer(name).is_some())
                    || (expected == "a boolean" && ["true", "false"].contains(&&**name))
            }
            _ => false,
        }
    }

    /// Returns true if this may be the reason why a scalar is refused. A scalar that differs from the received one is not.
    pub(super) fn may_be_about(&self, value: &Value) -> bool {
        match self {
            Self::Value { received, .. } => received.may_be(value),
            Self::Choice { received, .. } => value == received,
            _ => true,
        }
    }

    /// Returns true if this may be the reason why the name of a member is refused.
    pub(super) fn may_be_about_name(&self, name: &str) -> bool {
        match self {
            Self::Value { received, .. } => match received {
                Received::Float(_) => false,
                Received::Text(text) => text == name,
                Received::Other(text) => {
                    text.strip_prefix("the number ").is_none_or(|number| number == name)
                }
            },
            Self::Choice { received, .. } => received == name,
            _ => true,
        }
    }

    pub(super) fn mentions(&self, mark: &str, number: f64) -> bool {
        match self {
            Self::Value { received: Received::Float(float), .. } => *float == number,
            Self::Value { received: Received::Text(text) | Received::Other(text), .. }
            | Self::Choice { received: text, .. } => text.contains(mark),
            Self::Said(text) => text.contains(mark) || text.contains(&number.to_string()),
            _ => false,
        }
    }

    pub(super) fn violation(self, pointer: String) -> Violation {
        let expecting = |expected: String, received: &str| {
            Violation::new(&*pointer, format!("expected {expected}, received {received}"))
                .expecting(expected)
        };
        match self {
            Self::Value { received, expected, .. } => {
                let Some(integer) = width(&expected) else {
                    return expecting(summary(&expected), &received.to_string());
                };
                match received.whole() {
                    Some(number) => {
                        Violation::new(pointer, format!("{number} is out of range for {integer}"))
                            .expecting(integer)
                    }
                    None => expecting(integer, &received.to_string()),
                }
            }
            Self::Length { count, expected } => {
                expecting(summary(&expected), &counted(count, "item"))
            }
            Self::Choice { received, known } => {
                let expected = one_of(known.iter().map(|name| quoted(&(*name).into())));
                expecting(expected, &format!("the string {}", quoted(&received.into())))
                    .allowing(known.iter().map(|&name| name.into()))
            }
            Self::Unknown { name, known: [] } => Violation::new(
                below(&pointer, &name),
                "unknown member; no more members are allowed here",
            ),
            Self::Unknown { name, known } => {
                let known = crate::words::listed(known.iter().map(|name| format!("`{name}`")));
                Violation::new(below(&pointer, &name), format!("unknown member; known are {known}"))
            }
            Self::Missing { name } => {
                Violation::new(below(&pointer, &name), "required, but missing")
            }
            Self::NoAlternative => {
                Violation::new(pointer, "expected one of the forms that the schema names")
            }
            Self::Wide => Violation::new(
                pointer,
                "a 128-bit integer cannot be read inside a tagged, untagged or flattened type",
            ),
            Self::Said(message) => Violation::new(pointer, message),
        }
    }
}

impl Received {
    fn may_be(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Float(float), value) => value.as_f64() == Some(*float),
            (Self::Text(text), value) => value == text,
            (Self::Other(text), value) => match text.strip_prefix("the number ") {
                Some(number) => value.as_number().is_some_and(|own| own.to_string() == number),
                None => !["an array", "an object"].contains(&&**text),
            },
        }
    }

    /// Returns the number, if it is whole.
    fn whole(&self) -> Option<String> {
        match self {
            Self::Float(float) if float.fract() == 0.0 => Some(number(*float)),
            Self::Other(text) => text.strip_prefix("the number ").map(str::to_owned),
            _ => None,
        }
    }
}

/// Returns a number as JSON writes it.
fn number(float: f64) -> String {
    serde_json::Number::from_f64(float).map_or_else(|| float.to_string(), |n| n.to_string())
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(float) => f.write_str(&number(*float)),
            Self::Text(text) => write!(f, "the string {}", quoted(&text.as_str().into())),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<Unexpected<'_>> for Received {
    fn from(unexpected: Unexpected<'_>) -> Self {
        Self::Other(match unexpected {
            Unexpected::Bool(flag) => flag.to_string(),
            Unexpected::Unsigned(number) => format!("the number {number}"),
            Unexpected::Signed(number) => format!("the number {number}"),
            Unexpected::Float(float) => return Self::Float(float),
            Unexpected::Char(letter) => return Self::Text(letter.to_string()),
            Unexpected::Str(text) => return Self::Text(text.to_owned()),
            Unexpected::Unit | Unexpected::Option => "null".to_owned(),
            Unexpected::Seq | Unexpected::TupleVariant => "an array".to_owned(),
            Unexpected::Map | Unexpected::StructVariant => "an object".to_owned(),
            Unexpected::Other(text) => text.to_owned(),
            _ => "another value".to_owned(),
        })
    }
}

/// Translates serde's name of an integer type into JSON terms.
fn width(expected: &str) -> Option<String> {
    if let Some(nonzero) = expected.strip_prefix("a nonzero ") {
        return width(nonzero).map(|integer| format!("{integer} other than 0"));
    }
    Some(match expected {
        "i8" => "an 8-bit integer".to_owned(),
        "i16" | "i32" | "i64" | "i128" => format!("a {}-bit integer", &expected[1..]),
        "u8" | "u16" | "u32" | "u64" | "u128" => {
            format!("an unsigned {}-bit integer", &expected[1..])
        }
        "isize" => "a 64-bit integer".to_owned(),
        "usize" => "an unsigned 64-bit integer".to_owned(),
        _ => return None,
    })
}

/// Translates what serde expects into JSON terms. The text of a visitor of the author's own type stays.
fn summary(expected: &str) -> String {
    let starts = |words: &[&str]| words.iter().any(|word| expected.starts_with(word));
    let words = match expected {
        "a sequence" => "an array",
        "a map" => "an object",
        "a boolean" | "bool" | "boolean" => "true or false",
        "f32" | "f64" => "a number",
        // `rust_decimal`
        "a Decimal type representing a fixed-point number" => "a decimal number",
        "unit" => "null",
        "path string" | "os string" | "a borrowed string" | "variant identifier"
        | "variant of enum" | "field identifier" => "a string",
        "string or map" => "a string or an object",
        _ if starts(&[
            "tuple variant ",
            "tuple struct ",
            "a tuple of size ",
            "an array of length ",
        ]) =>
        {
            return match expected.split_whitespace().find_map(|word| word.parse::<usize>().ok()) {
                Some(count) => format!("an array of {}", counted(count, "item")),
                None => "an array".to_owned(),
            };
        }
        _ if starts(&["unit variant ", "unit struct "]) => "null",
        _ if starts(&["variant of "]) => "a string",
        _ if starts(&["struct ", "internally tagged enum ", "adjacently tagged enum "]) => {
            "an object"
        }
        _ if starts(&["enum ", "any variant of "]) => "one of the forms that the schema names",
        _ => return shorten(without_position(expected)),
    };
    words.to_owned()
}

/// Removes the position from a message, as in ` at line 1 column 10`: the caller does not have that text.
fn without_position(message: &str) -> &str {
    let Some((before, position)) = message.rsplit_once(" at line ") else { return message };
    let is_position = position
        .split_once(" column ")
        .is_some_and(|(line, column)| [line, column].iter().all(|n| n.parse::<u64>().is_ok()));
    if is_position { before } else { message }
}
