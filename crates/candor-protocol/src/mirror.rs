//! Tool arguments that are mirrored in HTTP headers (`x-mcp-header`), and how their values are written there.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

/// The keyword in an input schema.
const KEYWORD: &str = "x-mcp-header";

/// An argument that has a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The header's name after the prefix, in lower case.
    pub header: String,
    /// The property's path from the root.
    pub path: Vec<String>,
}

impl Mirror {
    /// Returns the value of the argument; `null` counts as absent.
    #[must_use]
    pub fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self.path.iter().try_fold(arguments, |value, step| value.get(step));
        value.filter(|value| !value.is_null())
    }
}

/// Finds the mirrored properties of a schema, or says why an annotation is invalid.
pub fn mirrors(schema: &Value) -> Result<Vec<Mirror>, String> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), true, &mut found)?;
    for (i, mirror) in found.iter().enumerate() {
        if found[..i].iter().any(|m| m.header == mirror.header) {
            return Err(format!("{KEYWORD} {:?} is used twice", mirror.header));
        }
    }
    Ok(found)
}

fn walk(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<Mirror>,
) -> Result<(), String> {
    let Some(members) = schema.as_object() else {
        for item in schema.as_array().into_iter().flatten() {
            walk(item, path, false, found)?;
        }
        return Ok(());
    };
    if let Some(name) = members.get(KEYWORD) {
        found.push(mirror(name, schema, path, reachable)?);
    }
    for (keyword, child) in members {
        match (keyword.as_str(), child.as_object()) {
            ("properties", Some(properties)) => {
                for (property, child) in properties {
                    path.push(property.clone());
                    walk(child, path, reachable, found)?;
                    path.pop();
                }
            }
            // These hold values, not schemas.
            ("const" | "enum" | "default" | "examples", _) => {}
            _ => walk(child, path, false, found)?,
        }
    }
    Ok(())
}

fn mirror(
    name: &Value,
    schema: &Value,
    path: &[String],
    reachable: bool,
) -> Result<Mirror, String> {
    let at = format!("{KEYWORD} at /{}", path.join("/"));
    let Some(name) = name.as_str().filter(|n| !n.is_empty() && n.bytes().all(is_token)) else {
        return Err(format!("{at} is not an HTTP header name"));
    };
    if !reachable || path.is_empty() {
        return Err(format!("{at} is allowed only on properties reached through properties alone"));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {
            Ok(Mirror { header: name.to_ascii_lowercase(), path: path.to_vec() })
        }
        _ => Err(format!("{at} needs a property of type string, integer or boolean")),
    }
}

/// Returns true for a character of an HTTP token (RFC 9110 §5.6.2).
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// Returns a text as a header value: unchanged if possible, otherwise in Base64.
#[must_use]
pub fn encoded(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|b| matches!(b, 0x20..=0x7e))
        && text.trim_matches(' ') == text
        && !text.starts_with("=?base64?");
    if plain {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("=?base64?{}?=", BASE64.encode(text)))
    }
}

/// Returns the text of a header value. Returns `None` if the value is not text.
#[must_use]
pub fn decoded(header: &str) -> Option<Cow<'_, str>> {
    let text = header.trim_matches([' ', '\t']);
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(text)),
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn invalid_header_annotation_is_refused() {
        for bad in [
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}),
            json!({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"$defs": {"x": {"type": "string", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}}),
        ] {
            assert!(mirrors(&bad).is_err(), "{bad}");
        }
        assert!(
            mirrors(&json!({"properties": {"x-mcp-header": {"type": "string"}}}))
                .unwrap()
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn header_value_survives_a_round_trip(text: String) {
            let header = encoded(&text).into_owned();
            prop_assert!(header.bytes().all(|b| matches!(b, 0x20..=0x7e)));
            prop_assert_eq!(decoded(&header).unwrap(), text);
        }
    }
}
