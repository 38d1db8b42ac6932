//! What a schema allows, as far as a command line needs to know: which kinds of values, which choices, which members.
//!
//! A schema is read as alternatives (`anyOf`, `oneOf`, several types), and each alternative combines several schemas (`allOf`,
//! `$ref`). What cannot be understood allows anything: the server decides in the end, and nothing here fails on an odd schema.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::{BitAnd, BitOr};
use std::ptr;
use std::rc::Rc;

use candor_schema::References;
use serde_json::{Map, Value};

/// A set of kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Numbers that are not integers.
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ANY: Self = Self(127);

    pub(crate) fn has(self, kind: Self) -> bool {
        self & kind == kind
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER | Self::FRACTION,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ANY,
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::INTEGER | Self::FRACTION,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

impl BitAnd for Kinds {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Kinds {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a schema allows: any of its alternatives.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    links: Links<'a>,
    pub(crate) ways: Vec<Alternative<'a>>,
}

/// The targets of references in the whole schema. It is parsed once. If that fails, no reference leads anywhere.
#[derive(Debug, Clone)]
struct Links<'a>(Rc<RefCell<Option<References<'a>>>>);

impl<'a> Links<'a> {
    fn of(root: &'a Value) -> Self {
        Self(Rc::new(RefCell::new(References::of(root))))
    }

    fn from(&self, schema: &'a Value) -> Option<Vec<&'a Value>> {
        self.0.borrow_mut().as_mut()?.from(schema)
    }
}

/// One alternative: values of these kinds that match all of these schemas.
#[derive(Debug, Clone)]
pub(crate) struct Alternative<'a> {
    pub(crate) kinds: Kinds,
    parts: Vec<&'a Map<String, Value>>,
}

/// Limits on alternatives, steps and depth, so that reading a schema ends.
const MOST_WAYS: usize = 64;
const MOST_STEPS: usize = 2_000;
const DEEPEST: usize = 32;

impl<'a> Shape<'a> {
    /// Reads a whole schema.
    pub(crate) fn of(root: &'a Value) -> Self {
        Self::within(root, root)
    }

    /// Reads a schema that is part of another one, in which its references are looked up.
    pub(crate) fn within(root: &'a Value, schema: &'a Value) -> Self {
        let links = Links::of(root);
        let ways = SchemaReading::new(&links).ways(schema, 0);
        Self { links, ways }
    }

    pub(crate) fn kinds(&self) -> Kinds {
        self.ways.iter().fold(Kinds::NONE, |kinds, way| kinds | way.kinds)
    }

    /// Returns the declared members of all alternatives, in the order of their declaration.
    pub(crate) fn names(&self) -> Vec<&'a str> {
        let mut seen = HashSet::new();
        let all = self.objects().flat_map(Alternative::names);
        all.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the members that every alternative requires, in the order of their declaration.
    pub(crate) fn required(&self) -> Vec<&'a str> {
        let mut lists = self.objects().map(Alternative::required);
        let Some(first) = lists.next() else { return Vec::new() };
        let mut needed: HashSet<_> = first.iter().copied().collect();
        for list in lists {
            let list: HashSet<_> = list.into_iter().collect();
            needed.retain(|name| list.contains(name));
        }
        // Some members are required but not declared.
        let all = self.names().into_iter().chain(first);
        all.filter(|name| needed.remove(name)).collect()
    }

    /// Returns the shape of a member; `None` if there is no such member.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        self.joined(self.objects().filter_map(|way| way.member(&self.links, name)).collect())
    }

    /// Returns the shape of a list's item.
    pub(crate) fn item(&self) -> Self {
        let lists = self.ways.iter().filter(|way| way.kinds.has(Kinds::ARRAY));
        let items = lists.map(|way| way.item(&self.links)).collect();
        self.joined(items).unwrap_or_else(|| self.with(vec![Alternative::any()]))
    }

    /// Returns the shape without values of this kind.
    pub(crate) fn without(mut self, kind: Kinds) -> Self {
        for way in &mut self.ways {
            way.kinds = way.kinds & Kinds(!kind.0);
        }
        self.ways.retain(|way| way.kinds != Kinds::NONE);
        self
    }

    /// Returns the shape of one of its alternatives alone.
    pub(crate) fn only(&self, way: &Alternative<'a>) -> Self {
        self.with(vec![way.clone()])
    }

    /// Returns the default value, if the schema has one.
    pub(crate) fn default(&self) -> Option<&'a Value> {
        self.ways.iter().flat_map(|way| &way.parts).find_map(|part| part.get("default"))
    }

    fn objects(&self) -> impl Iterator<Item = &Alternative<'a>> {
        self.ways.iter().filter(|way| way.kinds.has(Kinds::OBJECT))
    }

    fn joined(&self, found: Vec<Vec<Alternative<'a>>>) -> Option<Self> {
        if found.is_empty() {
            return None;
        }
        let ways = found.into_iter().flatten().take(MOST_WAYS).collect();
        Some(self.with(ways))
    }

    fn with(&self, ways: Vec<Alternative<'a>>) -> Self {
        Self { links: self.links.clone(), ways }
    }
}

impl<'a> Alternative<'a> {
    fn any() -> Self {
        Self { kinds: Kinds::ANY, parts: Vec::new() }
    }

    /// Returns the values that `enum` or `const` allow; `None` if the schema has neither.
    pub(crate) fn choices(&self) -> Option<Vec<&'a Value>> {
        let mut choices: Option<Vec<&'a Value>> = None;
        for part in &self.parts {
            let listed = match (part.get("const"), part.get("enum").and_then(Value::as_array)) {
                (Some(one), _) => vec![one],
                (None, Some(several)) => several.iter().collect(),
                (None, None) => continue,
            };
            choices = Some(match choices {
                None => listed,
                Some(known) => known.into_iter().filter(|value| listed.contains(value)).collect(),
            });
        }
        choices
    }

    fn names(&self) -> impl Iterator<Item = &'a str> {
        let lists = self.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        lists.flat_map(Map::keys).map(String::as_str)
    }

    fn required(&self) -> Vec<&'a str> {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    fn member(&self, links: &Links<'a>, name: &str) -> Option<Vec<Self>> {
        let declared = |part: &&'a Map<String, Value>| part.get("properties")?.get(name);
        let mut found = self.parts.iter().filter_map(declared).peekable();
        if found.peek().is_some() {
            return Some(SchemaReading::new(links).all(found, 0));
        }
        self.further(links)
    }

    /// Returns the shape of an undeclared member; `None` if there can be none. A schema that declares some members and is silent
    /// about others has probably listed them all: a misspelled name is reported here.
    fn further(&self, links: &Links<'a>) -> Option<Vec<Self>> {
        let mut said: Vec<&'a Value> = Vec::new();
        for part in &self.parts {
            match part.get("additionalProperties") {
                Some(Value::Bool(false)) => return None,
                Some(schema) => said.push(schema),
                None if part.contains_key("patternProperties") => said.push(&Value::Bool(true)),
                None => {}
            }
        }
        if !said.is_empty() {
            return Some(SchemaReading::new(links).all(said.into_iter(), 0));
        }
        self.names().next().is_none().then(|| vec![Self::any()])
    }

    fn item(&self, links: &Links<'a>) -> Vec<Self> {
        let items = self.parts.iter().filter_map(|part| part.get("items"));
        // A list of schemas, one for each position, is an old notation that says nothing about all items.
        SchemaReading::new(links).all(items.filter(|items| !items.is_array()), 0)
    }
}

/// One reading of a schema, with limits.
struct SchemaReading<'a, 'l> {
    links: &'l Links<'a>,
    steps: usize,
    /// The schemas that are being read. A schema that refers to itself adds nothing.
    open: Vec<&'a Value>,
}

impl<'a, 'l> SchemaReading<'a, 'l> {
    fn new(links: &'l Links<'a>) -> Self {
        Self { links, steps: 0, open: Vec::new() }
    }

    fn ways(&mut self, schema: &'a Value, depth: usize) -> Vec<Alternative<'a>> {
        self.steps += 1;
        let again = self.open.iter().any(|open| ptr::eq(*open, schema));
        if again || depth > DEEPEST || self.steps > MOST_STEPS {
            return vec![Alternative::any()];
        }
        self.open.push(schema);
        let ways = self.read(schema, depth);
        self.open.pop();
        ways
    }

    fn read(&mut self, schema: &'a Value, depth: usize) -> Vec<Alternative<'a>> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return Vec::new(),
            _ => return vec![Alternative::any()],
        };
        let mut ways = vec![Alternative { kinds: own_kinds(keywords), parts: vec![keywords] }];
        // A dynamic reference may lead to several schemas, and any of them may apply.
        if let Some(targets @ [_, ..]) = self.links.from(schema).as_deref() {
            let any: Vec<_> =
                targets.iter().flat_map(|target| self.ways(target, depth + 1)).collect();
            ways = both(&ways, &any);
        }
        let list = |name: &str| keywords.get(name).and_then(Value::as_array);
        for branches in [list("anyOf"), list("oneOf")].into_iter().flatten() {
            let any: Vec<_> =
                branches.iter().flat_map(|branch| self.ways(branch, depth + 1)).collect();
            ways = both(&ways, &any);
        }
        if let Some(parts) = list("allOf") {
            ways = both(&ways, &self.all(parts.iter(), depth + 1));
        }
        ways
    }

    /// Returns the alternatives that match all schemas.
    fn all(
        &mut self,
        schemas: impl Iterator<Item = &'a Value>,
        depth: usize,
    ) -> Vec<Alternative<'a>> {
        let mut ways = vec![Alternative::any()];
        for schema in schemas {
            ways = both(&ways, &self.ways(schema, depth));
        }
        ways
    }
}

/// Returns the alternatives that remain if one of each side must match.
fn both<'a>(left: &[Alternative<'a>], right: &[Alternative<'a>]) -> Vec<Alternative<'a>> {
    let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
    let joined = pairs.filter(|(left, right)| left.kinds & right.kinds != Kinds::NONE);
    joined
        .take(MOST_WAYS)
        .map(|(left, right)| {
            let mut parts = left.parts.clone();
            for part in &right.parts {
                if !parts.iter().any(|known| ptr::eq(*known, *part)) {
                    parts.push(part);
                }
            }
            Alternative { kinds: left.kinds & right.kinds, parts }
        })
        .collect()
}

/// Returns the kinds that the keywords of one schema allow.
fn own_kinds(keywords: &Map<String, Value>) -> Kinds {
    let any_of = |kinds: &mut dyn Iterator<Item = Kinds>| kinds.fold(Kinds::NONE, |a, b| a | b);
    let typed = match keywords.get("type") {
        Some(Value::String(name)) => Kinds::named(name),
        Some(Value::Array(names)) => {
            any_of(&mut names.iter().filter_map(Value::as_str).map(Kinds::named))
        }
        // Strictly, anything is allowed; but a schema that lists members means an object.
        None if keywords.contains_key("properties") => Kinds::OBJECT,
        None if keywords.contains_key("items") => Kinds::ARRAY,
        _ => Kinds::ANY,
    };
    let listed = match (keywords.get("const"), keywords.get("enum").and_then(Value::as_array)) {
        (Some(one), _) => Kinds::of(one),
        (None, Some(several)) => any_of(&mut several.iter().map(Kinds::of)),
        (None, None) => Kinds::ANY,
    };
    typed & listed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_and_unions_are_followed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/Name"},
                "b": {"anyOf": [{"$ref": "#/$defs/Name"}, {"type": "null"}]},
                "c": {"type": ["integer", "string"]},
                "d": {"allOf": [{"type": ["number", "string"]}, {"enum": [1, "x", true]}]},
            },
            "required": ["c", "a"],
            "$defs": {"Name": {"type": "string"}}
        });
        let shape = Shape::of(&schema);
        assert_eq!(shape.names(), ["a", "b", "c", "d"]);
        assert_eq!(shape.required(), ["a", "c"]);
        let kinds = |name: &str| shape.member(name).unwrap().kinds();
        assert_eq!(kinds("a"), Kinds::STRING);
        assert_eq!(kinds("b"), Kinds::STRING | Kinds::NULL);
        assert_eq!(kinds("c"), Kinds::STRING | Kinds::INTEGER);
        assert_eq!(kinds("d"), Kinds::STRING | Kinds::INTEGER);
        assert!(shape.member("e").is_none());
    }

    #[test]
    fn references_resolve_as_in_the_validator() {
        let schema = json!({
            "properties": {
                "place": {"$ref": "#/$defs/a%20name"},
                "deeper": {"$ref": "#/definitions/old"},
                "anchor": {"$ref": "#name"},
                "named": {"$ref": "inner"},
                "dynamic": {"$dynamicRef": "#name"},
                "nowhere": {"$ref": "#/$defs/none"},
            },
            "$defs": {
                "a name": {"$dynamicAnchor": "name", "type": "string"},
                "other": {"$id": "inner", "type": "integer"},
            },
            "definitions": {"old": {"properties": {"a": {"$ref": "#name"}}}}
        });
        let shape = Shape::of(&schema);
        let kinds = |name: &str| shape.member(name).unwrap().kinds();
        assert_eq!(kinds("place"), Kinds::STRING);
        assert_eq!(shape.member("deeper").unwrap().member("a").unwrap().kinds(), Kinds::STRING);
        assert_eq!(kinds("anchor"), Kinds::STRING);
        assert_eq!(kinds("named"), Kinds::INTEGER);
        assert_eq!(kinds("dynamic"), Kinds::STRING);
        assert_eq!(kinds("nowhere"), Kinds::ANY);
        let unknown = json!({"$schema": "https://example.invalid/", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}});
        assert_eq!(Shape::of(&unknown).kinds(), Kinds::ANY);
    }

    #[test]
    fn member_required_by_every_alternative_is_required() {
        let schema = json!({
            "required": ["z"],
            "properties": {"kind": {}, "z": {}},
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["x", "kind"]},
                {"properties": {"kind": {"const": "b"}, "x": {"type": "integer"}, "y": {}}, "required": ["kind", "y"]}
            ]
        });
        let shape = Shape::of(&schema);
        assert_eq!(shape.required(), ["kind", "z"]);
        assert_eq!(shape.names(), ["kind", "z", "x", "y"]);
        assert_eq!(shape.member("x").unwrap().kinds(), Kinds::STRING | Kinds::INTEGER);
        let kinds: Vec<_> = shape
            .member("kind")
            .unwrap()
            .ways
            .iter()
            .filter_map(Alternative::choices)
            .flatten()
            .cloned()
            .collect();
        assert_eq!(kinds, [json!("a"), json!("b")]);
    }

    #[test]
    fn undeclared_member_depends_on_additional_properties() {
        let member = |schema: Value| Shape::of(&schema).member("x").map(|shape| shape.kinds());
        assert_eq!(member(json!({"type": "object"})), Some(Kinds::ANY));
        assert_eq!(
            member(json!({"additionalProperties": {"type": "string"}})),
            Some(Kinds::STRING)
        );
        assert_eq!(
            member(json!({"properties": {"y": {}}, "additionalProperties": true})),
            Some(Kinds::ANY)
        );
        assert_eq!(member(json!({"properties": {"y": {}}})), None);
        assert_eq!(member(json!({"additionalProperties": false})), None);
        assert_eq!(
            member(json!({"properties": {"y": {}}, "patternProperties": {}})),
            Some(Kinds::ANY)
        );
        assert_eq!(member(json!(true)), Some(Kinds::ANY));
    }

    #[test]
    fn recursive_and_malformed_schemas_are_read_in_bounded_time() {
        let circle = json!({"$ref": "#", "anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"$ref": "#"}}});
        assert!(Shape::of(&circle).kinds().has(Kinds::OBJECT));
        let wide: Vec<_> = (0..200).map(|n| json!({"const": n})).collect();
        let bomb = json!({"allOf": [{"anyOf": wide}, {"anyOf": wide}, {"anyOf": wide}]});
        assert!(Shape::of(&bomb).ways.len() <= MOST_WAYS);
        for odd in [
            json!(null),
            json!(1),
            json!([]),
            json!("x"),
            json!({"type": 7}),
            json!({"type": "text"}),
            json!({"$ref": 1}),
            json!({"$ref": "#/nowhere"}),
            json!({"$ref": "https://a.example"}),
            json!({"properties": []}),
            json!({"required": "x"}),
            json!({"enum": 3}),
            json!({"items": [1]}),
            json!({"anyOf": {}}),
            json!({"allOf": [1, null]}),
        ] {
            let shape = Shape::of(&odd);
            let _ =
                (shape.names(), shape.required(), shape.member("x"), shape.item(), shape.default());
            assert_ne!(shape.kinds(), Kinds::NONE, "{odd}");
        }
        assert_eq!(Shape::of(&json!(false)).kinds(), Kinds::NONE);
    }
}
