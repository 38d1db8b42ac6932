//! Resolves the references of a document, for code that walks through the document as a value.

use std::fmt;

use serde_json::Value;

use super::document::Document;
use crate::schema::dialect;

/// The references of a schema, read as the validator reads them: JSON Pointers, anchors, and names of schemas inside it.
///
/// ```
/// use candor_schema::References;
/// use serde_json::json;
///
/// let schema = json!({
///     "properties": {"key": {"$ref": "#key"}},
///     "$defs": {"any": {"$anchor": "key", "type": "string"}},
/// });
/// let mut references = References::of(&schema).unwrap();
/// let key = &schema["properties"]["key"];
/// assert_eq!(references.from(key), Some(vec![&schema["$defs"]["any"]]));
/// ```
pub struct References<'d> {
    document: Document<'d>,
}

impl<'d> References<'d> {
    /// Reads the references of a schema. Returns `None` if the schema cannot be read, and so cannot be compiled either.
    #[must_use]
    pub fn of(schema: &'d Value) -> Option<Self> {
        let document = Document::read(schema, dialect(schema).ok()?).ok()?;
        Some(Self { document })
    }

    /// Returns the schemas that the references of one schema may lead to, with all candidates of a dynamic reference. Returns
    /// `None` if a reference leads nowhere, or if the schema is not part of this document.
    #[must_use]
    pub fn from(&mut self, schema: &'d Value) -> Option<Vec<&'d Value>> {
        const KEYWORDS: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
        if KEYWORDS.iter().all(|keyword| schema.get(keyword).is_none()) {
            return Some(Vec::new());
        }
        let node = self.document.node(schema)?;
        let resource = self.document.site(node).resource;
        let draft = self.document.resources[resource as usize].draft;
        let mut found = Vec::new();
        if let Some(reference) = schema.get("$ref") {
            let (target, _) = self.document.resolve(node, reference.as_str()?).ok()?;
            found.push(target);
        }
        if let Some(reference) = draft.dynamic_ref().and_then(|keyword| schema.get(keyword)) {
            let (target, name) = self.document.resolve(node, reference.as_str()?).ok()?;
            found.push(target);
            // Which candidate it is depends on the path of the check.
            let name = name.unwrap_or_default();
            let all = self.document.resources.iter();
            found.extend(all.filter_map(|resource| resource.dynamic.get(name).copied()));
        }
        Some(found.into_iter().map(|node| self.document.site(node).schema).collect())
    }
}

impl fmt::Debug for References<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("References").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns what the references of the schema at a place lead to, sorted by their text.
    fn found(schema: &Value, at: &str) -> Option<Vec<String>> {
        let found = References::of(schema).unwrap().from(schema.pointer(at).unwrap())?;
        let mut found: Vec<_> = found.into_iter().map(Value::to_string).collect();
        found.sort();
        found.dedup();
        Some(found)
    }

    #[test]
    fn reference_is_followed_by_pointer_anchor_and_id() {
        let schema = json!({
            "$id": "https://example.invalid/root",
            "properties": {
                "pointer": {"$ref": "#/$defs/a%20b/items"},
                "anchor": {"$ref": "#here"},
                "name": {"$ref": "inner#there"},
                "elsewhere": {"$ref": "#there"},
                "away": {"$ref": "https://example.invalid/other"},
                "plain": {"type": "string"},
                "wrong": {"$ref": 7},
            },
            "$defs": {
                "a b": {"items": {"title": "by place"}},
                "x": {"$anchor": "here", "title": "by anchor"},
                "y": {"$id": "inner", "$defs": {"z": {"$anchor": "there", "title": "by name"}}},
            },
        });
        let title = |at: &str| {
            let at = schema.pointer(&format!("/properties/{at}")).unwrap();
            let found = References::of(&schema).unwrap().from(at)?;
            Some(found.into_iter().map(|found| found["title"].clone()).collect::<Vec<_>>())
        };
        assert_eq!(title("pointer").unwrap(), ["by place"]);
        assert_eq!(title("anchor").unwrap(), ["by anchor"]);
        assert_eq!(title("name").unwrap(), ["by name"]);
        assert_eq!(title("plain"), Some(vec![]));
        for nowhere in ["elsewhere", "away", "wrong"] {
            assert_eq!(title(nowhere), None, "{nowhere}");
        }
        let stranger = json!({"$ref": "#here"});
        assert_eq!(References::of(&schema).unwrap().from(&stranger), None);
    }

    #[test]
    fn dynamic_reference_leads_to_every_possible_target() {
        let schema = json!({
            "$ref": "list",
            "$defs": {
                "own": {"$dynamicAnchor": "item", "title": "own"},
                "list": {
                    "$id": "list", "items": {"$dynamicRef": "#item"},
                    "$defs": {"any": {"$dynamicAnchor": "item", "title": "any"}},
                },
            },
        });
        let all = found(&schema, "/$defs/list/items").unwrap();
        assert_eq!(all.len(), 2, "{all:?}");
        // An older draft has another keyword for it, and does not know this one.
        let mut old = json!({
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$recursiveAnchor": true,
            "items": {"$recursiveRef": "#", "$dynamicRef": "#nowhere"},
        });
        assert_eq!(found(&old, "/items"), Some(vec![old.to_string()]));
        old["$schema"] = "http://json-schema.org/draft-07/schema#".into();
        assert_eq!(found(&old, "/items"), Some(vec![]));
    }

    #[test]
    fn unknown_dialect_has_no_references() {
        let unknown = json!({"$schema": "https://example.invalid/dialect"});
        assert!(References::of(&unknown).is_none());
    }
}
