//! Tool arguments mirrored in HTTP headers (`x-mcp-header`), and the check that both say the same.
//!
//! Whoever stands between client and server may route or bill by the header; if header and body could
//! differ, one party would decide about a call that another party runs.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_protocol::names::header::PARAM_PREFIX;
use candor_protocol::rpc::{ErrorObject, code};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

/// The keyword in an input schema.
const KEYWORD: &str = "x-mcp-header";

/// An argument that has a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirror {
    /// The header's name after the prefix, in lower case.
    header: String,
    /// The property's path from the root.
    path: Vec<String>,
}

/// The argument mirrors that a request came with.
#[derive(Debug, Clone, Default)]
pub(crate) struct MirroredHeaders(Vec<(String, HeaderValue)>);

impl MirroredHeaders {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mirrors = headers.iter().filter_map(|(name, value)| {
            Some((name.as_str().strip_prefix(PARAM_PREFIX)?.to_owned(), value.clone()))
        });
        Self(mirrors.collect())
    }
}

/// Finds the mirrored properties of a schema, or says why an annotation is invalid.
pub(crate) fn mirrors(schema: &Value) -> Result<Vec<Mirror>, String> {
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
            // Values, not schemas: whatever stands in them is data.
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
        return Err(format!(
            "{at} can only stand on properties that are reached by properties alone"
        ));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => {
            Ok(Mirror { header: name.to_ascii_lowercase(), path: path.to_vec() })
        }
        _ => Err(format!("{at} needs a property of type string, integer or boolean")),
    }
}

/// A character of an HTTP token (RFC 9110 §5.6.2).
fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// Checks that headers and arguments say the same.
pub(crate) fn check(
    mirrors: &[Mirror],
    headers: &MirroredHeaders,
    arguments: &Value,
) -> Result<(), ErrorObject> {
    for mirror in mirrors {
        let value = mirror.path.iter().try_fold(arguments, |value, step| value.get(step));
        let mut sent =
            headers.0.iter().filter(|(name, _)| *name == mirror.header).map(|(_, value)| value);
        let mismatch = |problem: &str| {
            let message = format!("Header mismatch: Mcp-Param-{} {problem}", mirror.header);
            Err(ErrorObject::new(code::HEADER_MISMATCH, message))
        };
        match (value.filter(|v| !v.is_null()), sent.next(), sent.next()) {
            (_, Some(_), Some(_)) => return mismatch("was sent twice"),
            (None, None, _) => {}
            (None, Some(_), _) => return mismatch("was sent, but the body has no value for it"),
            (Some(_), None, _) => {
                return mismatch("is missing, though the body has a value for it");
            }
            (Some(value), Some(header), None) => match decode(header) {
                None => return mismatch("has invalid characters or invalid Base64"),
                Some(text) if !same(value, &text) => return mismatch("does not match the body"),
                Some(_) => {}
            },
        }
    }
    Ok(())
}

/// The text behind a header value; none if it holds what may not be there.
pub(crate) fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    let text = value.to_str().ok()?.trim_matches([' ', '\t']);
    match text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        None => Some(Cow::Borrowed(text)),
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok().map(Cow::Owned),
    }
}

fn same(value: &Value, text: &str) -> bool {
    match value {
        Value::String(body) => body == text,
        Value::Bool(body) => text == if *body { "true" } else { "false" },
        // Numerically: `42.0` and `42` are the same integer.
        Value::Number(body) => {
            text == body.to_string()
                || text
                    .parse::<f64>()
                    .is_ok_and(|header| body.as_f64() == Some(header) && header.abs() < 9e15)
        }
        // Not what the schema says; the validator answers that better.
        Value::Null | Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(pairs: &[(&str, &str)]) -> MirroredHeaders {
        let pairs = pairs.iter().map(|(n, v)| ((*n).to_owned(), HeaderValue::from_str(v).unwrap()));
        MirroredHeaders(pairs.collect())
    }

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "limits": {"type": "object", "properties": {"rows": {"type": "integer", "x-mcp-header": "Rows"}}},
        }})
    }

    #[test]
    fn header_and_body_must_agree() {
        let mirrors = mirrors(&schema()).unwrap();
        let ok = |arguments: Value, sent: &[(&str, &str)]| {
            check(&mirrors, &headers(sent), &arguments).is_ok()
        };
        assert!(ok(
            json!({"region": "eu", "limits": {"rows": 42}}),
            &[("region", "eu"), ("rows", "42.0")]
        ));
        assert!(ok(json!({"region": "Hello"}), &[("region", "=?base64?SGVsbG8=?=")]));
        assert!(ok(json!({"region": "=?base64?x"}), &[("region", "=?base64?x")]));
        assert!(ok(json!({"region": null}), &[]));
        assert!(ok(json!({}), &[("unknown", "x")]));
        assert!(!ok(json!({"region": "eu"}), &[]));
        assert!(!ok(json!({"region": "eu"}), &[("region", "us")]));
        assert!(!ok(json!({"region": "eu"}), &[("region", "eu"), ("region", "eu")]));
        assert!(!ok(json!({}), &[("region", "eu")]));
        assert!(!ok(json!({"region": "Hello"}), &[("region", "=?base64?SGVsbG8?=")]));
        assert!(!ok(json!({"limits": {"rows": 42}}), &[("rows", "43")]));
    }

    #[test]
    fn annotations_where_no_header_can_be_read_are_refused() {
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
}
