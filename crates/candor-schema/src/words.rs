//! Short descriptions of schemas and values, for messages.

use serde_json::Value;

use crate::violation::shorten;
use crate::walk::resolve;

/// Maximum number of names or values in a message.
const LISTED: usize = 20;

/// Maximum number of allowed values to list. A list that leaves some out would be wrong, so a longer one is dropped.
const CHOICE: usize = 100;

/// Returns all values that a schema allows, if it lists them; otherwise nothing.
pub(crate) fn allowed(root: &Value, schema: &Value) -> Vec<Value> {
    fn collect(root: &Value, schema: &Value, levels: usize, values: &mut Vec<Value>) -> Option<()> {
        let schema = resolve(root, schema);
        if let Some(value) = schema.get("const") {
            values.push(value.clone());
        } else if let Some(Value::Array(options)) = schema.get("enum") {
            values.extend(options.iter().take(CHOICE + 1).cloned());
        } else {
            let branches = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
            for branch in branches {
                // A schema may contain itself.
                collect(root, branch, levels.checked_sub(1)?, values)?;
            }
        }
        (values.len() <= CHOICE).then_some(())
    }
    let mut values = Vec::new();
    collect(root, schema, 2, &mut values).map_or_else(Vec::new, |()| values)
}

/// Describes what a schema expects: `an integer`, `one of "a", "b"`, `an object with "kind"`.
pub(crate) fn expected(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    if let Some(value) = schema.get("const") {
        return quoted(value);
    }
    if let Some(Value::Array(options)) = schema.get("enum") {
        return one_of(options.iter().map(quoted));
    }
    if let Some(Value::Array(branches)) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        let mut forms: Vec<String> = Vec::new();
        for branch in branches.iter().take(LISTED) {
            // One level is enough to choose from; a union inside a union is not spelled out.
            let branch = resolve(root, branch);
            let form = match (branch.get("anyOf"), branch.get("format").and_then(Value::as_str)) {
                (Some(_), _) => "another form".to_owned(),
                // Several forms may be strings; the format tells them apart.
                (None, Some(name)) if branch["type"] == "string" => format(name),
                _ => expected(root, branch),
            };
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        return forms.join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "object" => object(schema),
        Some(Value::String(name)) => article(name).to_owned(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(article).collect::<Vec<_>>().join(" or ")
        }
        _ => "a value".to_owned(),
    }
}

fn object(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let properties = schema.get("properties");
    let members: Vec<String> = required
        .iter()
        .filter_map(Value::as_str)
        .take(LISTED)
        .map(|name| match properties.and_then(|p| p.get(name)).and_then(|p| p.get("const")) {
            Some(value) => format!("`{name}` = {}", quoted(value)),
            None => format!("`{name}`"),
        })
        .collect();
    if members.is_empty() {
        "an object".to_owned()
    } else {
        format!("an object with {}", members.join(", "))
    }
}

/// Describes a string of a format, with an example if the name of the format does not say enough.
pub(crate) fn format(name: &str) -> String {
    let example = match name {
        "partial-time" => " (such as 14:30:00)",
        "partial-date-time" => " (such as 2024-12-31T14:30:00)",
        _ => "",
    };
    format!("a string of format {name}{example}")
}

/// Returns a JSON type with its article.
pub(crate) fn article(name: &str) -> &str {
    match name {
        "string" => "a string",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "an array",
        "object" => "an object",
        other => other,
    }
}

/// Describes a received value: scalars in full, containers by type and size.
pub(crate) fn received(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => format!("the string {}", quoted(value)),
        Value::Array(items) => format!("an array of {}", counted(items.len(), "item")),
        Value::Object(members) => format!("an object of {}", counted(members.len(), "member")),
    }
}

/// Returns a value as JSON, shortened for a message.
pub(crate) fn quoted(value: &Value) -> String {
    match value {
        // Shortened before it is escaped, so that a huge string is not copied.
        Value::String(text) => Value::String(shorten(text)).to_string(),
        other => shorten(&other.to_string()),
    }
}

/// Returns `one of a, b`, or just `a`.
pub(crate) fn one_of(options: impl ExactSizeIterator<Item = String>) -> String {
    match options.len() {
        1 => options.collect(),
        _ => format!("one of {}", listed(options)),
    }
}

/// Returns `a, b, c and 17 more`.
pub(crate) fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(LISTED);
    let list = items.take(LISTED).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{list} and {more} more") } else { list }
}

/// Returns `1 item`, `2 items`.
pub(crate) fn counted(count: impl Into<Count>, noun: &str) -> String {
    let Count(count) = count.into();
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A length of either integer type.
pub(crate) struct Count(u64);

impl From<usize> for Count {
    fn from(count: usize) -> Self {
        Self(count as u64)
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Self(count)
    }
}
