//! Compiled schemas. Schemas with the same text share one compiled form.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::Value;

use crate::explain::explain;
use crate::validate::{CheckResult, Draft, Validator};
use crate::violation::{Invalid, Violation, shorten};

/// If the cache holds this many schemas, compiling another one drops those that are not in use.
const KEPT: usize = 4096;

/// Maximum size in bytes and maximum nesting. Larger and deeper schemas are mistakes or attacks, and costly to compile.
const LARGEST: usize = 1 << 20;
const DEEPEST: usize = 127;

/// A value that cannot be checked is invalid.
const TOO_COSTLY: &str =
    "too costly to check against the schema; send less, or simplify the schema";

/// A compiled JSON Schema: 2020-12 unless `$schema` names draft 4, 6, 7 or 2019-09.
///
/// Patterns run in linear time. Those with look-around or back-references run for a limited number of steps. If a value
/// needs more, it is refused with an error that says so. A `$ref` never leaves the schema: neither the network nor a file
/// is ever read. A known `format` (`email`, `date-time`, `uuid`, …) is checked, because an author who writes it expects
/// that.
pub struct Schema {
    validator: Validator,
    /// Explanations take the names of allowed members and alternatives from it. It is parsed again for each explanation,
    /// which is rare: a parsed [`Value`] would take several times the memory.
    text: Arc<str>,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError(String);

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SchemaError {}

/// The cache. Tool sources may rebuild their tools on every request; the same text is still compiled only once.
static COMPILED: LazyLock<Mutex<HashMap<Arc<str>, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// Compiles a schema from JSON text, or returns it from the cache.
    ///
    /// ```
    /// use candor_schema::Schema;
    ///
    /// let schema = Schema::compile(
    ///     r#"{"properties": {"path": {"type": "string"}}, "required": ["path"]}"#,
    /// )?;
    /// let invalid = schema.check(&serde_json::json!({})).unwrap_err();
    /// assert_eq!(invalid.to_string(), "/path: required, but missing; expected a string");
    /// # Ok::<(), candor_schema::SchemaError>(())
    /// ```
    pub fn compile(text: &str) -> Result<Arc<Self>, SchemaError> {
        if let Some(schema) = compiled().get(text) {
            return Ok(schema.clone());
        }
        let schema = Arc::new(Self::compile_anew(text)?);
        let mut compiled = compiled();
        if compiled.len() >= KEPT {
            compiled.retain(|_, schema| Arc::strong_count(schema) > 1);
        }
        compiled.insert(schema.text.clone(), schema.clone());
        Ok(schema)
    }

    fn compile_anew(text: &str) -> Result<Self, SchemaError> {
        if text.len() > LARGEST {
            return Err(SchemaError(format!(
                "the schema is {} bytes long; at most {LARGEST} are allowed",
                text.len()
            )));
        }
        if depth(text) > DEEPEST {
            return Err(SchemaError(format!(
                "the schema is nested more than {DEEPEST} levels deep"
            )));
        }
        let document: Value =
            serde_json::from_str(text).map_err(|e| SchemaError(format!("not JSON: {e}")))?;
        let validator = Validator::compile(&document, dialect(&document)?)
            .map_err(|e| SchemaError(shorten(&e)))?;
        Ok(Self { validator, text: text.into() })
    }

    /// Checks a value. The error says what is wrong and where.
    pub fn check(&self, value: &Value) -> Result<(), Invalid> {
        // The common case first: deciding is several times cheaper than explaining.
        match self.validator.check(value) {
            CheckResult::Fits => Ok(()),
            CheckResult::Fails => {
                let document = serde_json::from_str(&self.text).unwrap_or_default();
                Err(Invalid { violations: explain(&document, &self.validator, value) })
            }
            CheckResult::TooCostly => Err(Violation::new("", TOO_COSTLY).into()),
        }
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

fn compiled() -> std::sync::MutexGuard<'static, HashMap<Arc<str>, Arc<Schema>>> {
    // A panic while the lock was held cannot have left a half-written entry.
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the draft that a schema is written in.
pub(crate) fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(named) = schema.get("$schema").and_then(Value::as_str) else {
        return Ok(Draft::Twenty);
    };
    Draft::named(named).ok_or_else(|| {
        SchemaError(format!(
            "unsupported dialect {named:?}; supported are 2020-12 (the default), 2019-09 and drafts 7, 6 and 4"
        ))
    })
}

/// Returns how deep arrays and objects are nested in a JSON text.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_violation_has_its_pointer() {
        let schema = Schema::compile(
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"items":{"type":"string"}}},"additionalProperties":false}"#,
        )
        .unwrap();
        let invalid = schema.check(&json!({"a": "x", "b": ["ok", 1], "c": 0})).unwrap_err();
        let pointers: Vec<_> = invalid.violations.iter().map(|v| v.pointer.as_str()).collect();
        assert_eq!(pointers.len(), 3, "{invalid}");
        assert!(
            pointers.contains(&"/a") && pointers.contains(&"/b/1") && pointers.contains(&"/c"),
            "{invalid}"
        );
    }

    #[test]
    fn external_references_are_refused() {
        for target in ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json"] {
            let text = format!(r#"{{"type":"object","properties":{{"a":{{"$ref":"{target}"}}}}}}"#);
            assert!(Schema::compile(&text).is_err(), "{target}");
        }
    }

    #[test]
    fn pattern_that_needs_too_many_steps_refuses_the_value() {
        let schema = Schema::compile(r#"{"pattern":"^(?!(a+)+$)"}"#).unwrap();
        assert!(schema.check(&json!("b")).is_ok());
        let invalid = schema.check(&json!("a".repeat(100) + "b")).unwrap_err();
        assert!(invalid.to_string().starts_with("too costly to check"), "{invalid}");
        let schema = Schema::compile(r#"{"pattern":"^(a+)+$"}"#).unwrap();
        assert!(schema.check(&json!("a".repeat(5000) + "b")).is_err());
    }

    #[test]
    fn unknown_dialect_is_refused() {
        let error = Schema::compile(r#"{"$schema":"https://example.org/mine"}"#).unwrap_err();
        assert!(error.to_string().contains("unsupported dialect"), "{error}");
        assert!(
            Schema::compile(r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#).is_ok()
        );
    }

    #[test]
    fn same_schema_text_is_compiled_once() {
        let text = r#"{"type":"object","title":"compiled once"}"#;
        assert!(Arc::ptr_eq(&Schema::compile(text).unwrap(), &Schema::compile(text).unwrap()));
    }

    #[test]
    fn error_does_not_quote_a_huge_value_in_full() {
        let schema = Schema::compile(r#"{"type":"object"}"#).unwrap();
        let invalid = schema.check(&json!("x".repeat(1_000_000))).unwrap_err();
        assert!(invalid.to_string().len() < 1_000);
    }

    #[test]
    fn schema_that_is_too_large_or_too_deep_is_refused() {
        let large = format!(r#"{{"description":"{}"}}"#, "x".repeat(LARGEST));
        let error = Schema::compile(&large).unwrap_err().to_string();
        assert!(error.contains("at most 1048576"), "{error}");

        let nested = |depth| format!("{}true{}", r#"{"not":"#.repeat(depth), "}".repeat(depth));
        let error = Schema::compile(&nested(DEEPEST + 1)).unwrap_err().to_string();
        assert!(error.contains("127 levels"), "{error}");
        assert!(Schema::compile(&nested(DEEPEST)).is_ok());
        assert!(Schema::compile(&nested(100_000)).is_err());
        assert!(Schema::compile(r#"{"description":"[[[[ \"{{{ \\"}"#).is_ok());
    }

    #[test]
    fn check_of_a_self_reference_ends() {
        let schema = Schema::compile(r##"{"$ref":"#"}"##).unwrap();
        assert!(schema.check(&json!(1)).is_ok());
    }

    #[test]
    fn string_formats_are_checked() {
        let schema = Schema::compile(r#"{"format":"email"}"#).unwrap();
        assert!(schema.check(&json!("ann@example.org")).is_ok());
        let invalid = schema.check(&json!("ann")).unwrap_err();
        assert_eq!(invalid.to_string(), r#"expected a string of format email, received "ann""#);
    }
}
