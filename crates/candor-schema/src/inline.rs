//! Moves definitions to where they are used. Only recursive ones, which cannot move, stay in `$defs`.
//!
//! Hosts strip `$defs` from what they show to a model, so a reference is a hole in the description.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::merge::merge;
use crate::walk::{children, children_mut, unescape};

/// Returns the definitions that contain themselves, directly or through others.
pub(crate) fn recursive(definitions: &Map<String, Value>) -> BTreeSet<String> {
    definitions
        .iter()
        .filter(|(name, schema)| reachable(schema, definitions).contains(name.as_str()))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Replaces every reference with its definition. Recursive definitions stay in `$defs` at the root.
///
/// The root itself is never a bare reference, because hosts refuse such a root.
pub(crate) fn inline(root: Value, definitions: &Map<String, Value>) -> Value {
    let inliner = Inliner { definitions, kept: recursive(definitions) };
    let mut root = root;
    let mut opened = BTreeSet::new();
    while let Some(name) = target(&root) {
        if !opened.insert(name.clone()) {
            break;
        }
        open(&mut root, &definitions[&name]);
    }
    inliner.expand(&mut root);

    let mut kept = Map::new();
    let mut wanted = targets(&root);
    while let Some(name) = wanted.pop() {
        if !kept.contains_key(&name) {
            let mut schema = definitions[&name].clone();
            inliner.expand(&mut schema);
            wanted.extend(targets(&schema));
            kept.insert(name, schema);
        }
    }
    if let (Value::Object(keywords), false) = (&mut root, kept.is_empty()) {
        kept.sort_keys();
        keywords.insert("$defs".to_owned(), kept.into());
    }
    root
}

struct Inliner<'a> {
    definitions: &'a Map<String, Value>,
    kept: BTreeSet<String>,
}

impl Inliner<'_> {
    fn expand(&self, schema: &mut Value) {
        while let Some(name) = target(schema) {
            if self.kept.contains(&name) && !is_extended(schema) {
                return;
            }
            open(schema, &self.definitions[&name]);
        }
        if let Value::Object(keywords) = schema {
            for child in children_mut(keywords) {
                self.expand(child);
            }
        }
    }
}

/// Returns true if a reference has members of its own beside it (a flattened newtype, the tag of a variant). It becomes one
/// object with its target, even a recursive one: two closed objects would refuse each other's members.
fn is_extended(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// Replaces a reference with its definition. Keywords beside the reference win.
fn open(schema: &mut Value, definition: &Value) {
    let Value::Object(beside) = schema else { return };
    beside.shift_remove("$ref");
    let beside = std::mem::take(beside);
    *schema = match definition {
        Value::Object(definition) => Value::Object(merge(beside, definition.clone())),
        Value::Bool(true) if !beside.is_empty() => Value::Object(beside),
        anything_or_nothing => anything_or_nothing.clone(),
    };
}

/// Returns the name of the definition that a schema refers to.
fn target(schema: &Value) -> Option<String> {
    let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
    Some(unescape(name).replace("~1", "/").replace("~0", "~"))
}

/// Returns the names of the definitions that a schema refers to anywhere.
fn targets(schema: &Value) -> Vec<String> {
    let mut found: Vec<String> = target(schema).into_iter().collect();
    for child in children(schema) {
        found.extend(targets(child));
    }
    found
}

fn reachable(schema: &Value, definitions: &Map<String, Value>) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = targets(schema);
    while let Some(name) = next.pop() {
        if let Some(schema) = definitions.get(&name)
            && !reached.contains(&name)
        {
            next.extend(targets(schema));
            reached.insert(name);
        }
    }
    reached
}
