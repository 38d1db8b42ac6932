//! Reads keywords and checks their shape. A keyword of another shape is refused, with its place.

use serde_json::{Map, Number, Value};

use super::draft::Draft;
use crate::violation::below;
use crate::words::received;

/// Keywords that do not limit values, but have a required shape.
const TEXTS: [&str; 8] = [
    "title",
    "description",
    "$comment",
    "contentEncoding",
    "contentMediaType",
    "$schema",
    "$id",
    "$anchor",
];
const FLAGS: [&str; 3] = ["readOnly", "writeOnly", "deprecated"];

/// The keywords of one schema.
pub(super) struct Shape<'d> {
    pub(super) keywords: &'d Map<String, Value>,
    pub(super) draft: Draft,
}

impl<'d> Shape<'d> {
    /// Returns the error for a keyword of a wrong shape. The compiler prepends the place of the schema: only errors need it, and
    /// a hostile schema can make it long.
    pub(super) fn wrong<T>(&self, keyword: &str, expected: &str) -> Result<T, String> {
        let found = self.keywords.get(keyword).map_or("nothing".to_owned(), received);
        Err(format!("{}: expected {expected}, found {found}", below("", keyword)))
    }

    pub(super) fn get(&self, keyword: &str) -> Option<&'d Value> {
        // Most schemas have few keywords, and most lookups are for missing ones.
        if self.keywords.len() > 8 {
            return self.keywords.get(keyword);
        }
        self.keywords.iter().find(|(name, _)| *name == keyword).map(|(_, value)| value)
    }

    /// Returns for which types of values the schema has keywords.
    pub(super) fn groups(&self) -> Groups {
        let mut groups = Groups::default();
        for keyword in self.keywords.keys() {
            match keyword.as_str() {
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    groups.numbers = true;
                }
                "minLength" | "maxLength" | "pattern" | "format" => groups.strings = true,
                "minItems" | "maxItems" | "uniqueItems" | "items" | "prefixItems"
                | "additionalItems" | "contains" | "minContains" | "maxContains" => {
                    groups.arrays = true;
                }
                "minProperties"
                | "maxProperties"
                | "required"
                | "properties"
                | "patternProperties"
                | "additionalProperties"
                | "propertyNames"
                | "dependencies"
                | "dependentRequired"
                | "dependentSchemas" => {
                    groups.objects = true;
                }
                "type" | "title" | "description" | "default" => {}
                _ => groups.others = true,
            }
        }
        groups
    }

    /// Returns a keyword, if the schema's draft is this one or a later one.
    pub(super) fn since(&self, draft: Draft, keyword: &str) -> Option<&'d Value> {
        self.get(keyword).filter(|_| self.draft >= draft)
    }

    pub(super) fn number(&self, keyword: &str) -> Result<Option<&'d Number>, String> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(_) => self.wrong(keyword, "a number"),
        }
    }

    /// Reads a count; 2.0 is one, too.
    pub(super) fn count(&self, keyword: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        match whole(value) {
            Some(count) => Ok(Some(count)),
            None => self.wrong(keyword, "a whole number, not negative"),
        }
    }

    pub(super) fn flag(&self, keyword: &str) -> Result<bool, String> {
        match self.get(keyword) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => self.wrong(keyword, "true or false"),
        }
    }

    pub(super) fn text(&self, keyword: &str) -> Result<Option<&'d str>, String> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => self.wrong(keyword, "a string"),
        }
    }

    /// Reads a list of names that all differ.
    pub(super) fn names(&self, keyword: &str) -> Result<Vec<&'d str>, String> {
        let Some(value) = self.get(keyword) else { return Ok(Vec::new()) };
        match names(value) {
            Some(names) if self.draft > Draft::Four || !names.is_empty() => Ok(names),
            _ => self.wrong(keyword, "an array of strings that all differ"),
        }
    }

    /// Reads a list that is not empty.
    pub(super) fn list(&self, keyword: &str) -> Result<&'d [Value], String> {
        match self.get(keyword) {
            None => Ok(&[]),
            Some(Value::Array(items)) if !items.is_empty() => Ok(items),
            Some(_) => self.wrong(keyword, "an array of schemas, not empty"),
        }
    }

    pub(super) fn members(&self, keyword: &str) -> Result<Option<&'d Map<String, Value>>, String> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(_) => self.wrong(keyword, "an object"),
        }
    }

    /// Checks the keywords that are not compiled.
    pub(super) fn check_words(&self) -> Result<(), String> {
        // Most schemas have none, so a loop over the existing keywords is cheaper than a lookup of each.
        for (keyword, value) in self.keywords {
            let keyword = keyword.as_str();
            if TEXTS.contains(&keyword) && !value.is_string() {
                return self.wrong(keyword, "a string");
            }
            if FLAGS.contains(&keyword) && !value.is_boolean() && self.draft >= Draft::Seven {
                return self.wrong(keyword, "true or false");
            }
            if keyword == "examples" && !value.is_array() && self.draft >= Draft::Six {
                return self.wrong(keyword, "an array");
            }
            if matches!(keyword, "$defs" | "definitions") && !value.is_object() {
                return self.wrong(keyword, "an object");
            }
        }
        Ok(())
    }
}

/// Why a schema cannot be compiled.
pub(super) enum Problem {
    /// A keyword has the wrong shape.
    Malformed(String),
    /// The schema is well formed, but a reference leads nowhere, or a pattern cannot be compiled. This is a mistake only if the
    /// schema is used: many documents have definitions that they do not use.
    Unusable(String),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Malformed(problem)
    }
}

/// Which kinds of keywords a schema has, so that lookups of the others can be skipped.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) numbers: bool,
    pub(super) strings: bool,
    pub(super) arrays: bool,
    pub(super) objects: bool,
    pub(super) others: bool,
}

/// Returns a list of names, if they all differ.
pub(super) fn names(value: &Value) -> Option<Vec<&str>> {
    let names: Vec<&str> = value.as_array()?.iter().map(Value::as_str).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    (!sorted.windows(2).any(|pair| pair[0] == pair[1])).then_some(names)
}

/// Returns a count, in either spelling: 2 or 2.0.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let count = value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        Some(count as u64)
    })
}
