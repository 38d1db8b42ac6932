//! A schema compiled once, shared by everything that has the same text.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// How many distinct schemas stay compiled when nobody uses them any more.
const KEPT: usize = 4096;

/// How many violations one answer names. More help nobody, and a hostile value could cause millions.
const NAMED: usize = 20;

/// Values are quoted in violations up to this many characters.
const QUOTED: usize = 200;

/// A compiled JSON Schema: 2020-12 unless `$schema` names draft 4, 6, 7 or 2019-09.
///
/// Patterns run in linear time, and a `$ref` never leaves the schema: neither the network nor a file
/// is ever read.
pub struct Schema {
    validator: Validator,
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

/// One thing wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer to the offending part; empty for the whole.
    pub pointer: String,
    /// What is wrong with it.
    pub problem: String,
}

/// Everything that is wrong with a value, at most twenty things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// In the order in which the schema finds them; never empty.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.violations.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            if !violation.pointer.is_empty() {
                write!(f, "{}: ", violation.pointer)?;
            }
            f.write_str(&violation.problem)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}

/// Providers may build their tools anew on every request; the same text is compiled once all the same.
static COMPILED: LazyLock<Mutex<HashMap<Box<str>, Arc<Schema>>>> = LazyLock::new(Mutex::default);

impl Schema {
    /// Compiles a schema given as JSON text, or finds it compiled.
    ///
    /// ```
    /// use candor_schema::Schema;
    ///
    /// let schema = Schema::compile(r#"{"type": "object", "required": ["path"]}"#)?;
    /// let invalid = schema.check(&serde_json::json!({})).unwrap_err();
    /// assert_eq!(invalid.to_string(), r#""path" is a required property"#);
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
        compiled.insert(text.into(), schema.clone());
        Ok(schema)
    }

    fn compile_anew(text: &str) -> Result<Self, SchemaError> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| SchemaError(format!("not JSON: {e}")))?;
        let validator = jsonschema::options()
            .with_draft(dialect(&value)?)
            .with_pattern_options(PatternOptions::regex())
            .build(&value)
            .map_err(|e| SchemaError(shorten(&e.to_string())))?;
        Ok(Self { validator })
    }

    /// Checks a value; names what is wrong and where.
    pub fn check(&self, value: &Value) -> Result<(), Invalid> {
        // The common case first: deciding is several times cheaper than explaining.
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let violations = self
            .validator
            .iter_errors(value)
            .take(NAMED)
            .map(|e| Violation {
                pointer: e.instance_path().to_string(),
                problem: shorten(&e.to_string()),
            })
            .collect();
        Err(Invalid { violations })
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

fn compiled() -> std::sync::MutexGuard<'static, HashMap<Box<str>, Arc<Schema>>> {
    // A panic while the lock was held cannot have left a half-written entry.
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    let Some(named) = schema.get("$schema").and_then(Value::as_str) else {
        return Ok(Draft::Draft202012);
    };
    let draft = match named
        .trim_end_matches('#')
        .trim_start_matches("http://")
        .trim_start_matches("https://")
    {
        "json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
        "json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        "json-schema.org/draft-07/schema" => Draft::Draft7,
        "json-schema.org/draft-06/schema" => Draft::Draft6,
        "json-schema.org/draft-04/schema" => Draft::Draft4,
        _ => {
            return Err(SchemaError(format!(
                "unsupported dialect {named:?}; supported are 2020-12 (the default), 2019-09 and drafts 7, 6 and 4"
            )));
        }
    };
    Ok(draft)
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_violation_is_named_with_its_pointer() {
        let schema = Schema::compile(
            r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"items":{"type":"string"}}},"additionalProperties":false}"#,
        )
        .unwrap();
        let invalid = schema.check(&json!({"a": "x", "b": ["ok", 1], "c": 0})).unwrap_err();
        let pointers: Vec<_> = invalid.violations.iter().map(|v| v.pointer.as_str()).collect();
        assert_eq!(pointers.len(), 3, "{invalid}");
        assert!(
            pointers.contains(&"/a") && pointers.contains(&"/b/1") && pointers.contains(&""),
            "{invalid}"
        );
    }

    #[test]
    fn references_never_leave_the_schema() {
        for target in ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json"] {
            let text = format!(r#"{{"type":"object","properties":{{"a":{{"$ref":"{target}"}}}}}}"#);
            assert!(Schema::compile(&text).is_err(), "{target}");
        }
    }

    #[test]
    fn patterns_that_need_backtracking_are_refused() {
        assert!(Schema::compile(r#"{"pattern":"(a+)\\1"}"#).is_err());
        let schema = Schema::compile(r#"{"pattern":"^(a+)+$"}"#).unwrap();
        assert!(schema.check(&json!("a".repeat(5000) + "b")).is_err());
    }

    #[test]
    fn unknown_dialects_are_named() {
        let error = Schema::compile(r#"{"$schema":"https://example.org/mine"}"#).unwrap_err();
        assert!(error.to_string().contains("unsupported dialect"), "{error}");
        assert!(
            Schema::compile(r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#).is_ok()
        );
    }

    #[test]
    fn the_same_text_is_compiled_once() {
        let text = r#"{"type":"object","title":"compiled once"}"#;
        assert!(Arc::ptr_eq(&Schema::compile(text).unwrap(), &Schema::compile(text).unwrap()));
    }

    #[test]
    fn huge_values_are_not_quoted_in_full() {
        let schema = Schema::compile(r#"{"type":"object"}"#).unwrap();
        let invalid = schema.check(&json!("x".repeat(1_000_000))).unwrap_err();
        assert!(invalid.to_string().len() < 1_000);
    }
}
