//! Tool arguments mirrored in HTTP headers (`x-mcp-header`), and the check that header and argument agree.
//!
//! A proxy between client and server may route or bill by the header. If header and body could differ, the proxy would decide about
//! one call and the server would run another.

use std::borrow::Cow;

use candor_protocol::mirror::{Mirror, decoded};
use candor_protocol::names::header::PARAM_PREFIX;
use candor_protocol::rpc::{ErrorObject, code};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

/// The argument mirrors of a request.
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

/// Checks that headers and arguments agree.
pub(crate) fn check(
    mirrors: &[Mirror],
    headers: &MirroredHeaders,
    arguments: &Value,
) -> Result<(), ErrorObject> {
    for mirror in mirrors {
        let value = mirror.value(arguments);
        let mut sent =
            headers.0.iter().filter(|(name, _)| *name == mirror.header).map(|(_, value)| value);
        let mismatch = |problem: &str| {
            let message = format!("Header mismatch: Mcp-Param-{} {problem}", mirror.header);
            Err(ErrorObject::new(code::HEADER_MISMATCH, message))
        };
        match (value, sent.next(), sent.next()) {
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

/// Decodes a header value. Returns `None` if it has invalid characters or invalid Base64.
pub(crate) fn decode(value: &HeaderValue) -> Option<Cow<'_, str>> {
    decoded(value.to_str().ok()?)
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
        // The schema does not allow these in a mirrored argument, and the validator reports that better.
        Value::Null | Value::Array(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::mirror::mirrors;
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
    fn mirrored_header_must_match_its_argument() {
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
}
