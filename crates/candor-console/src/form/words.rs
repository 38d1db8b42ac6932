//! Types in words, as a programmer would write them.

use serde_json::Value;

use super::{Field, Kind, Pick, Text};

/// Maximum length of a list of values or shapes, in characters. A longer list becomes its count.
const NAMED: usize = 60;

/// Maximum number of parameters in a signature.
const PARAMETERS: usize = 12;

/// Returns the type of a field: `integer`, `string[]`, `"draft" | "sent"`.
pub(crate) fn type_of(field: &Field) -> String {
    let word = match &field.kind {
        Kind::Text(text) => of_text(*text).to_owned(),
        Kind::Number { whole: true } => "integer".to_owned(),
        Kind::Number { whole: false } => "number".to_owned(),
        Kind::Truth => "boolean".to_owned(),
        Kind::Choice(picks) => of_picks(picks),
        Kind::Fixed(value) => value.to_string(),
        Kind::Group { fields, rest: Some(rest) } if fields.is_empty() => {
            format!("map of {}", type_of(rest))
        }
        Kind::Group { .. } => "object".to_owned(),
        Kind::List(item) => match type_of(item) {
            item if item.contains(' ') => format!("({item})[]"),
            item => format!("{item}[]"),
        },
        Kind::Tuple(places) => {
            let places: Vec<String> = places.iter().map(type_of).collect();
            format!("[{}]", places.join(", "))
        }
        Kind::Shapes(shapes) => {
            let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
            let all = names.join(" | ");
            if all.chars().count() > NAMED { format!("one of {} shapes", names.len()) } else { all }
        }
        Kind::Json => "any".to_owned(),
    };
    if field.nullable { format!("{word} | null") } else { word }
}

fn of_text(text: Text) -> &'static str {
    match text {
        Text::Free | Text::Line | Text::Key => "string",
        Text::Date => "date",
        Text::DateTime => "date-time",
        Text::Email => "email",
        Text::Uri => "uri",
        Text::Uuid => "uuid",
        Text::Secret => "secret",
    }
}

fn of_picks(picks: &[Pick]) -> String {
    let all: Vec<String> = picks.iter().map(|pick| pick.value.to_string()).collect();
    let all = all.join(" | ");
    if all.chars().count() > NAMED { format!("one of {} values", picks.len()) } else { all }
}

/// Returns a tool in one line: `create_invoice(customer_id: uuid, note?: string) → {invoice_id, status}`.
pub(crate) fn signature(name: &str, takes: &Field, gives: Option<&Field>) -> String {
    let mut line = format!("{name}({})", parameters(takes));
    if let Some(gives) = gives {
        line.push_str(" → ");
        line.push_str(&result(gives));
    }
    line
}

fn parameters(takes: &Field) -> String {
    let Kind::Group { fields, .. } = &takes.kind else { return type_of(takes) };
    let mut all: Vec<String> = fields.iter().take(PARAMETERS).map(parameter).collect();
    if fields.len() > PARAMETERS {
        all.push(format!("… {} more", fields.len() - PARAMETERS));
    }
    all.join(", ")
}

fn parameter(field: &Field) -> String {
    let mark = if field.required { "" } else { "?" };
    let default = match &field.default {
        Some(value @ (Value::Bool(_) | Value::Number(_))) => format!(" = {value}"),
        Some(Value::String(text)) if text.len() < 24 => format!(" = {:?}", text.as_str()),
        _ => String::new(),
    };
    format!("{}{mark}: {}{default}", field.name, type_of(field))
}

/// Returns the type of a result. A value that is wrapped in the only member `result` appears without the wrapper.
fn result(gives: &Field) -> String {
    match &gives.kind {
        Kind::Group { fields, rest: None } => match &fields[..] {
            [only] if only.name == "result" => type_of(only),
            fields => {
                let mut names: Vec<&str> =
                    fields.iter().take(PARAMETERS).map(|field| field.name.as_str()).collect();
                if fields.len() > PARAMETERS {
                    names.push("…");
                }
                format!("{{{}}}", names.join(", "))
            }
        },
        _ => type_of(gives),
    }
}
