//! Tools in the formats of model providers.
//!
//! Providers take less than JSON Schema: the root must be an object with `properties`, and must not have `oneOf`, `anyOf`, `allOf`,
//! `not`, `enum` or `$ref`. What such a root says is folded into its properties. The result may allow more than the tool does; the
//! client checks arguments against the tool's own schema before it calls. A reference into what the folding took away or changed gets
//! its target in `$defs`; one that leads nowhere is removed.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::tools::KnownTool;

pub(crate) fn openai(name: &str, tool: &KnownTool) -> Value {
    let mut function = json!({"name": name, "parameters": accepted(tool.input_schema())});
    describe(&mut function, tool, LONGEST_DESCRIPTION);
    json!({"type": "function", "function": function})
}

pub(crate) fn anthropic(name: &str, tool: &KnownTool) -> Value {
    let mut format = json!({"name": name, "input_schema": accepted(tool.input_schema())});
    describe(&mut format, tool, usize::MAX);
    format
}

/// The most characters that OpenAI takes in the description of a function. Anthropic has no such limit.
const LONGEST_DESCRIPTION: usize = 1024;

fn describe(format: &mut Value, tool: &KnownTool, longest: usize) {
    if let Some(description) = tool.description().or(tool.title()) {
        format["description"] = match description.char_indices().nth(longest) {
            None => description.into(),
            Some(_) => {
                let cut: String = description.chars().take(longest - 1).collect();
                format!("{}…", cut.trim_end()).into()
            }
        };
    }
}

/// How many references and alternatives deep the root is looked into: a schema may refer to itself.
const DEEPEST: usize = 8;

/// Returns the schema in the form that providers accept.
fn accepted(schema: &Value) -> Value {
    let mut root = folded(schema, schema, DEEPEST);
    root.insert("type".to_owned(), "object".into());
    root.entry("properties").or_insert_with(|| json!({}));
    with_targets(Value::Object(root), schema)
}

/// Returns the folded schema with a target for each of its references.
fn with_targets(mut folded: Value, whole: &Value) -> Value {
    let before = folded.clone();
    let mut targets =
        Targets { before: &before, whole, names: BTreeMap::new(), numbers: 0, moved: Vec::new() };
    targets.settle(&mut folded);
    while let Some((name, mut target)) = targets.moved.pop() {
        targets.settle(&mut target);
        if !folded["$defs"].is_object() {
            folded["$defs"] = json!({});
        }
        folded["$defs"][name] = target;
    }
    folded
}

/// What the references of a folded schema lead to.
struct Targets<'a> {
    /// The folded schema as it was, and the tool's own.
    before: &'a Value,
    whole: &'a Value,
    /// The definition that a fragment's target becomes; `None` if the target stays where it is.
    names: BTreeMap<String, Option<String>>,
    numbers: usize,
    /// Definitions whose own references are not settled yet.
    moved: Vec<(String, Value)>,
}

impl Targets<'_> {
    /// Changes the references of a schema that lose their targets.
    fn settle(&mut self, schema: &mut Value) {
        match schema {
            Value::Array(schemas) => schemas.iter_mut().for_each(|schema| self.settle(schema)),
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get_mut("$ref") {
                    match self.settled(reference) {
                        Some(settled) => *reference = settled,
                        None => drop(members.remove("$ref")),
                    }
                }
                for (keyword, value) in members {
                    match (keyword.as_str(), value) {
                        ("const" | "enum" | "default" | "examples", _) => {}
                        (
                            "properties" | "patternProperties" | "$defs" | "definitions"
                            | "dependentSchemas",
                            Value::Object(named),
                        ) => named.values_mut().for_each(|schema| self.settle(schema)),
                        (_, value) => self.settle(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns a reference that has a target; `None` if there is none to be had.
    fn settled(&mut self, reference: &str) -> Option<String> {
        // One target has many spellings, and is to be moved once.
        let fragment = reference.strip_prefix('#')?;
        let fragment = percent_decode_str(fragment).decode_utf8().ok()?.into_owned();
        if let Some(name) = self.names.get(&fragment) {
            return Some(
                name.as_ref().map_or_else(|| reference.to_owned(), |name| to_definition(name)),
            );
        }
        let target = at(self.whole, &fragment)?;
        let stays = fragment.is_empty() || at(self.before, &fragment) == Some(target);
        let name = (!stays).then(|| self.free_name());
        if let Some(name) = &name {
            self.moved.push((name.clone(), target.clone()));
        }
        self.names.insert(fragment, name.clone());
        Some(name.map_or_else(|| reference.to_owned(), |name| to_definition(&name)))
    }

    /// Returns a name for a definition that no other one has.
    fn free_name(&mut self) -> String {
        loop {
            self.numbers += 1;
            let name = format!("target{}", self.numbers);
            if self.whole["$defs"].get(&name).is_none() {
                return name;
            }
        }
    }
}

fn to_definition(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Returns what a fragment leads to: a pointer, or the name of an anchor.
fn at<'a>(schema: &'a Value, fragment: &str) -> Option<&'a Value> {
    if fragment.is_empty() || fragment.starts_with('/') {
        return schema.pointer(fragment);
    }
    match schema {
        Value::Object(members) if members.get("$anchor").is_some_and(|name| name == fragment) => {
            Some(schema)
        }
        Value::Object(members) => members.values().find_map(|member| at(member, fragment)),
        Value::Array(items) => items.iter().find_map(|item| at(item, fragment)),
        _ => None,
    }
}

/// Returns an object schema without alternatives and references of its own.
fn folded(schema: &Value, whole: &Value, deeper: usize) -> Map<String, Value> {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    let reference = root.remove("$ref");
    let all = take_list(&mut root, "allOf");
    let some = [take_list(&mut root, "oneOf"), take_list(&mut root, "anyOf")];
    for keyword in ["not", "enum", "const", "if", "then", "else"] {
        root.remove(keyword);
    }
    let Some(deeper) = deeper.checked_sub(1) else { return root };
    let target = reference.as_ref().and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    let target = target.and_then(|fragment| percent_decode_str(fragment).decode_utf8().ok());
    let target = target.and_then(|fragment| at(whole, &fragment));
    for branch in target.into_iter().chain(&all) {
        let mut branch = folded(branch, whole, deeper);
        let required = take_required(&mut branch);
        add_properties(&mut root, branch);
        require(&mut root, required);
    }
    for alternatives in some.iter().filter(|alternatives| !alternatives.is_empty()) {
        let mut always: Option<Vec<Value>> = None;
        for alternative in alternatives {
            let mut branch = folded(alternative, whole, deeper);
            let required = take_required(&mut branch);
            match &mut always {
                None => always = Some(required),
                Some(always) => always.retain(|name| required.contains(name)),
            }
            add_properties(&mut root, branch);
        }
        require(&mut root, always.unwrap_or_default());
    }
    root
}

fn take_list(root: &mut Map<String, Value>, keyword: &str) -> Vec<Value> {
    match root.remove(keyword) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn take_required(branch: &mut Map<String, Value>) -> Vec<Value> {
    take_list(branch, "required")
}

fn require(root: &mut Map<String, Value>, names: Vec<Value>) {
    if let Value::Array(required) = root.entry("required").or_insert_with(|| json!([])) {
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        if required.is_empty() {
            root.remove("required");
        }
    }
}

/// Adds a branch's properties. A property that has another schema already may be either.
fn add_properties(root: &mut Map<String, Value>, mut branch: Map<String, Value>) {
    let Some(Value::Object(added)) = branch.remove("properties") else { return };
    let properties = root.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else { return };
    for (name, schema) in added {
        match properties.get_mut(&name) {
            None => {
                properties.insert(name, schema);
            }
            Some(known) if *known == schema => {}
            Some(known) => {
                let either = known.as_object_mut().filter(|known| known.len() == 1);
                match either.and_then(|known| known.get_mut("anyOf")).and_then(Value::as_array_mut)
                {
                    Some(either) if either.contains(&schema) => {}
                    Some(either) => either.push(schema),
                    None => *known = json!({"anyOf": [known.take(), schema]}),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_without_properties_gets_them_and_a_plain_one_stays() {
        assert_eq!(accepted(&json!({})), json!({"type": "object", "properties": {}}));
        let plain = json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/A"}]}},
            "required": ["a"], "additionalProperties": false, "$defs": {"A": {"type": "string"}}});
        assert_eq!(accepted(&plain), plain);
    }

    #[test]
    fn alternatives_and_references_of_the_root_are_folded_into_its_properties() {
        let tagged = json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
            {"$ref": "#/$defs/B"},
            {"type": "object", "properties": {"kind": {"const": "c"}}, "required": ["kind"]},
        ], "$defs": {"B": {"properties": {"kind": {"const": "b"}, "y": {"type": "integer"}}, "required": ["kind"]}}});
        let folded = accepted(&tagged);
        assert_eq!(
            folded["properties"]["kind"]["anyOf"],
            json!([{"const": "a"}, {"const": "b"}, {"const": "c"}])
        );
        assert_eq!(folded["required"], json!(["kind"]));
        assert_eq!(
            (&folded["properties"]["y"]["type"], folded.get("oneOf")),
            (&json!("integer"), None)
        );
        let all =
            json!({"allOf": [{"properties": {"a": true}, "required": ["a"]}], "required": ["b"]});
        assert_eq!(accepted(&all)["required"], json!(["b", "a"]));
        let endless = json!({"$ref": "#", "properties": {"a": {"type": "string"}}});
        assert_eq!(accepted(&endless)["properties"], json!({"a": {"type": "string"}}));
    }

    /// Returns the references of a schema that lead nowhere.
    fn dangling(schema: &Value, whole: &Value) -> Vec<String> {
        match schema {
            Value::Object(members) => {
                let own = members.get("$ref").and_then(Value::as_str).filter(|reference| {
                    at(whole, reference.strip_prefix('#').unwrap_or("?")).is_none()
                });
                let nested = members.values().flat_map(|member| dangling(member, whole));
                nested.chain(own.map(str::to_owned)).collect()
            }
            Value::Array(items) => items.iter().flat_map(|item| dangling(item, whole)).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn references_into_what_is_folded_away_keep_their_targets() {
        let schema = json!({"type": "object", "properties": {
                "z": {"$ref": "#/anyOf/0"},
                "again": {"items": {"$ref": "#/%61nyOf/0"}},
                "kind": {"items": {"type": "integer"}},
                "item": {"$ref": "#/properties/kind/items"},
                "named": {"$ref": "#branch"},
                "root": {"$ref": "#"},
                "stays": {"$ref": "#/$defs/target2"},
                "nowhere": {"$ref": "#/anyOf/7", "type": "string"},
                "abroad": {"$ref": "https://example.org/schema"},
                "default": {"$ref": "#/anyOf/1/properties/x"},
                "value": {"default": {"$ref": "#/anyOf/7"}},
            },
            "anyOf": [
                {"properties": {"loop": {"$ref": "#/anyOf/0"}, "x": {"$ref": "#/anyOf/1/properties/x"}}},
                {"$anchor": "branch", "properties": {"kind": {"const": 1}, "x": {"type": "boolean"}}},
            ],
            "$defs": {"target2": {"type": "null"}}});
        let folded = accepted(&schema);
        let properties = &folded["properties"];
        let target = |property: &Value| {
            at(&folded, property["$ref"].as_str().unwrap().trim_start_matches('#')).unwrap()
        };
        let first = target(&properties["z"]);
        assert_eq!(first["properties"]["loop"], properties["z"], "{folded:#}");
        assert_eq!(properties["again"]["items"], properties["z"]);
        assert_eq!(target(&properties["item"]), &json!({"type": "integer"}));
        assert_eq!(target(&properties["named"])["properties"]["kind"], json!({"const": 1}));
        assert_eq!(target(&properties["stays"]), &json!({"type": "null"}));
        assert_eq!(target(&properties["default"]), &json!({"type": "boolean"}));
        assert_eq!(properties["nowhere"], json!({"type": "string"}));
        assert_eq!(properties["abroad"], json!({}));
        assert_eq!(properties["value"], schema["properties"]["value"], "a value is no schema");
        assert_eq!(dangling(&folded, &folded), ["#/anyOf/7"], "only that value: {folded:#}");
    }
}
