//! The values that a schema allows for an argument.
//!
//! The result is never narrower than the schema: unknown keywords restrict nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use candor_hints::{Domain, Lengths, Numbers, Pointer, Step, ValueClass};
use candor_schema::{References, Schema};
use serde_json::{Map, Value, json};

/// Maximum number of alternatives of a schema, and maximum depth of nested schemas.
const MOST: usize = 64;
const DEEPEST: usize = 24;

/// The keywords that a single value is checked against.
const PLAIN: [&str; 14] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "not",
    "$schema",
];

/// An input schema, read for the values of its arguments.
pub(super) struct Domains<'s> {
    root: &'s Value,
    references: RefCell<Option<References<'s>>>,
    /// Whether keywords beside a reference count.
    beside_reference: bool,
    /// Whether `prefixItems` counts.
    has_prefixes: bool,
}

/// What a schema says about an argument.
pub(super) struct Argument {
    pub(super) domain: Domain,
    /// The default of each step to it, and whether that step may be `null`.
    pub(super) defaults: Vec<(Pointer, Value, bool)>,
    /// The first step that the schema rules out by name, and the names that it allows there.
    pub(super) unknown: Option<(Pointer, Vec<String>)>,
    /// The number of its alternatives.
    alternatives: usize,
}

/// For some places of the arguments, by pointer: what is there.
pub(super) type SchemaForm = HashMap<String, Content>;

/// What is at a place of the arguments.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// A value of this alternative of the schema.
    Alternative(usize),
    Missing,
    Null,
}

/// Schemas that apply together.
type Alternative<'s> = Vec<&'s Map<String, Value>>;

impl<'s> Domains<'s> {
    pub(super) fn of(root: &'s Value) -> Self {
        let written = root["$schema"].as_str().unwrap_or_default();
        let beside_reference =
            !["draft-04", "draft-06", "draft-07"].iter().any(|old| written.contains(old));
        let has_prefixes = beside_reference && !written.contains("2019-09");
        Self {
            root,
            references: RefCell::new(References::of(root)),
            beside_reference,
            has_prefixes,
        }
    }

    /// Returns forms of the arguments. Each call has one of them, at least if there are any: too many are not counted.
    ///
    /// Only places that hold several of these arguments matter: what is there decides about all of them together.
    pub(super) fn forms(&self, arguments: &[&Pointer]) -> Vec<SchemaForm> {
        let mut shared: HashMap<String, usize> = HashMap::new();
        for argument in arguments {
            let steps = argument.steps().map(|step| step.as_str().to_owned());
            steps.chain([String::new()]).for_each(|place| *shared.entry(place).or_default() += 1);
        }
        let mut places: Vec<&String> = shared
            .iter()
            .filter(|(_, arguments)| **arguments > 1)
            .map(|(place, _)| place)
            .collect();
        // A place comes after those that contain it.
        places.sort_by_key(|place| (place.len(), *place));
        let mut forms = vec![SchemaForm::new()];
        for place in places {
            let mut chosen = Vec::new();
            for form in forms {
                let contents = self.contents(place, &form);
                if chosen.len() + contents.len() > MOST {
                    return Vec::new();
                }
                chosen.extend(contents.into_iter().map(|content| {
                    let mut form = form.clone();
                    form.insert(place.clone(), content);
                    form
                }));
            }
            forms = chosen;
        }
        forms
    }

    /// Returns what can be at a place, in calls that have this form. Below a place without a value, nothing needs to be known.
    fn contents(&self, place: &str, form: &SchemaForm) -> Vec<Content> {
        let (alternatives, step) = match place {
            "" => (self.alternatives(self.root, 0).len(), None),
            _ => {
                let found = self.argument_of(&Pointer::from(place), form);
                (found.alternatives, found.domain.steps.last().copied())
            }
        };
        let absent = [
            (Content::Missing, step.is_some_and(|step| step.missing)),
            (Content::Null, step.is_some_and(|step| step.null)),
        ];
        let absent =
            absent.into_iter().filter(|(_, possible)| *possible).map(|(content, _)| content);
        let contents: Vec<Content> =
            (0..alternatives).map(Content::Alternative).chain(absent).collect();
        if contents.is_empty() { vec![Content::Missing] } else { contents }
    }

    /// Returns what the schema says about the argument at this pointer.
    pub(super) fn argument(&self, at: &Pointer) -> Argument {
        self.argument_of(at, &SchemaForm::new())
    }

    /// Returns what the schema says about an argument of calls that have this form.
    pub(super) fn argument_of(&self, at: &Pointer, form: &SchemaForm) -> Argument {
        let mut argument = Argument {
            domain: Domain::default(),
            defaults: Vec::new(),
            unknown: None,
            alternatives: 0,
        };
        let mut places = chosen(self.alternatives(self.root, 0), form.get(""));
        for step in at.steps() {
            let name = step.name();
            let (mut children, mut missing, mut declared) = (Vec::new(), false, Vec::new());
            let mut closed = !places.is_empty();
            for place in &places {
                let types = Types::of(place);
                if types.is_only_null() {
                    continue;
                }
                match types.object.then(|| members(place, &name)) {
                    Some(Members::Schemas { named, matched }) => {
                        missing |= !types.is_only_object_or_null() || !is_required(place, &name);
                        declared.extend(named.iter().copied());
                        children.extend(self.all_of([named, matched].concat()));
                        closed = false;
                    }
                    Some(Members::None) => missing = true,
                    None => {
                        missing |= !(types.is_only_array_or_null() && has_item(place, &name));
                        closed = false;
                    }
                }
                if let Some(schemas) = index(&name)
                    .filter(|_| types.array)
                    .and_then(|i| items(place, i, self.has_prefixes))
                {
                    children.extend(self.all_of(schemas));
                }
            }
            if closed && argument.unknown.is_none() {
                argument.unknown = Some((step.clone(), names(&places)));
            }
            if children.len() > MOST {
                children = vec![Vec::new()];
            }
            let null = children.iter().any(|child| accepts(self.root, child)(&Value::Null));
            let content = form.get(step.as_str());
            let may_be = |absent: fn(&Content) -> bool| content.is_none_or(absent);
            argument.domain.steps.push(Step {
                missing: missing && may_be(|content| matches!(content, Content::Missing)),
                null: null && may_be(|content| matches!(content, Content::Null)),
            });
            places = chosen(children, content);
            if let Some(default) = default(&declared) {
                argument.defaults.push((step, default.clone(), null));
            }
        }
        argument.alternatives = places.len();
        argument.domain.given = places.iter().map(|place| given(self.root, place)).collect();
        argument
    }

    /// Returns the alternatives of a schema. Together they allow at least what it allows.
    fn alternatives(&self, schema: &'s Value, depth: usize) -> Vec<Alternative<'s>> {
        let keywords = match schema {
            Value::Bool(false) => return Vec::new(),
            Value::Object(keywords) if depth < DEEPEST => keywords,
            _ => return vec![Vec::new()],
        };
        let reference = keywords.get("$ref").and_then(|_| {
            let found = self.references.borrow_mut().as_mut()?.from(schema)?;
            let dynamic =
                ["$dynamicRef", "$recursiveRef"].iter().any(|key| keywords.contains_key(*key));
            found.first().copied().filter(|_| !dynamic)
        });
        let referred = reference.map(|target| self.alternatives(target, depth + 1));
        if keywords.contains_key("$ref") && !self.beside_reference {
            return referred.unwrap_or_else(|| vec![Vec::new()]);
        }
        let mut all = vec![vec![keywords]];
        let mut and = |more: Vec<Alternative<'s>>| all = both(&all, &more);
        if let Some(referred) = referred {
            and(referred);
        }
        let list = |keyword: &str| keywords.get(keyword).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            and(self.alternatives(schema, depth + 1));
        }
        for any in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            and(any.iter().flat_map(|schema| self.alternatives(schema, depth + 1)).collect());
        }
        all
    }

    fn all_of(&self, schemas: Vec<&'s Value>) -> Vec<Alternative<'s>> {
        let each = schemas.into_iter().map(|schema| self.alternatives(schema, 0));
        each.fold(vec![Vec::new()], |all, more| both(&all, &more))
    }
}

/// Returns the alternatives, or only those that a form has.
fn chosen<'s>(
    alternatives: Vec<Alternative<'s>>,
    content: Option<&Content>,
) -> Vec<Alternative<'s>> {
    match content {
        None => alternatives,
        Some(Content::Alternative(one)) => alternatives.into_iter().nth(*one).into_iter().collect(),
        Some(Content::Missing | Content::Null) => Vec::new(),
    }
}

/// Combines two lists of alternatives that apply together.
fn both<'s>(some: &[Alternative<'s>], others: &[Alternative<'s>]) -> Vec<Alternative<'s>> {
    if some.len() * others.len() > MOST {
        // Too many to combine: `some` alone, or no restriction at all, allows at least as much.
        return if some.len() <= MOST { some.to_vec() } else { vec![Vec::new()] };
    }
    let join = |a: &Alternative<'s>, b: &Alternative<'s>| a.iter().chain(b).copied().collect();
    some.iter().flat_map(|a| others.iter().map(move |b| join(a, b))).collect()
}

/// What an alternative says about a member.
enum Members<'s> {
    Schemas {
        /// Those that apply by its name, or because no other applies.
        named: Vec<&'s Value>,
        /// Those of patterns that its name matches.
        matched: Vec<&'s Value>,
    },
    /// It excludes the member.
    None,
}

fn members<'s>(place: &Alternative<'s>, name: &str) -> Members<'s> {
    let (mut named, mut matched) = (Vec::new(), Vec::new());
    for keywords in place {
        let own = keywords.get("properties").and_then(|all| all.get(name));
        let mut is_other = own.is_none();
        named.extend(own);
        let patterns = keywords.get("patternProperties").and_then(Value::as_object);
        for (pattern, schema) in patterns.into_iter().flatten() {
            let matches = is_match(pattern, name);
            is_other &= matches == Some(false);
            matched.extend(Some(schema).filter(|_| matches == Some(true)));
        }
        match keywords.get("additionalProperties").filter(|_| is_other) {
            Some(Value::Bool(false)) => return Members::None,
            other => named.extend(other),
        }
    }
    Members::Schemas { named, matched }
}

/// Returns whether a name matches a pattern. Returns `None` if the pattern is unusable, or too costly for this name.
fn is_match(pattern: &str, name: &str) -> Option<bool> {
    let name = Value::from(name);
    let accepts =
        |schema: Value| Some(Schema::compile(&schema.to_string()).ok()?.check(&name).is_ok());
    let matches = accepts(json!({"pattern": pattern}))?;
    // What is too costly is refused both ways.
    (accepts(json!({"not": {"pattern": pattern}}))? != matches).then_some(matches)
}

/// Returns true if each array has the item that a step names.
fn has_item(place: &Alternative<'_>, name: &str) -> bool {
    let least = place.iter().filter_map(|keywords| keywords.get("minItems")?.as_u64()).max();
    // A JSON Pointer writes no leading zeros.
    let index = index(name).filter(|index| index.to_string() == name);
    index.zip(least).is_some_and(|(index, least)| (index as u64) < least)
}

/// Returns the position in an array that a step names.
fn index(name: &str) -> Option<usize> {
    name.parse().ok().filter(|_| name.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the schemas of the element at this position. `None`: the array has no such element.
fn items<'s>(place: &Alternative<'s>, index: usize, has_prefixes: bool) -> Option<Vec<&'s Value>> {
    let mut schemas = Vec::new();
    for keywords in place {
        let most = keywords.get("maxItems").and_then(Value::as_u64);
        if most.is_some_and(|most| most <= index as u64) {
            return None;
        }
        // Before 2020-12, `items` may be a list, `additionalItems` applies to the rest, and `prefixItems` means nothing.
        let (first, rest) = match keywords.get("items") {
            Some(Value::Array(first)) => (Some(first), keywords.get("additionalItems")),
            rest => {
                let first = keywords.get("prefixItems").and_then(Value::as_array);
                (first.filter(|_| has_prefixes), rest)
            }
        };
        match first.and_then(|first| first.get(index)).or(rest) {
            Some(Value::Bool(false)) => return None,
            Some(schema) => schemas.push(schema),
            None => {}
        }
    }
    Some(schemas)
}

fn is_required(place: &Alternative<'_>, name: &str) -> bool {
    let required = place.iter().filter_map(|keywords| keywords.get("required")?.as_array());
    required.flatten().any(|required| required == name)
}

/// Returns the names of all members that some alternative declares.
fn names(places: &[Alternative<'_>]) -> Vec<String> {
    let declared =
        places.iter().flatten().filter_map(|keywords| keywords.get("properties")?.as_object());
    declared.flat_map(Map::keys).cloned().collect()
}

/// Returns the default that all declarations of an argument agree on.
fn default<'s>(declared: &[&'s Value]) -> Option<&'s Value> {
    let first = declared.first()?.get("default").filter(|default| !default.is_null())?;
    declared.iter().all(|schema| schema.get("default") == Some(first)).then_some(first)
}

/// The types that schemas allow together.
struct Types {
    null: bool,
    boolean: bool,
    number: bool,
    integer: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl Types {
    fn of(place: &Alternative<'_>) -> Self {
        let declared: Vec<&Value> =
            place.iter().filter_map(|keywords| keywords.get("type")).collect();
        let allows = |name: &str| {
            declared.iter().all(|declared| match declared {
                Value::Array(names) => names.iter().any(|one| one == name),
                one => *one == name,
            })
        };
        let only_integers = |declared: &&Value| match declared {
            Value::Array(names) => !names.iter().any(|one| one == "number"),
            one => *one != "number",
        };
        let numeric = |declared: &&Value| match declared {
            Value::Array(names) => names.iter().any(|one| one == "number" || one == "integer"),
            one => *one == "number" || *one == "integer",
        };
        Self {
            null: allows("null"),
            boolean: allows("boolean"),
            number: declared.iter().all(numeric),
            integer: declared.iter().any(only_integers),
            string: allows("string"),
            array: allows("array"),
            object: allows("object"),
        }
    }

    fn is_only_null(&self) -> bool {
        self.null && self.is_only_object_or_null() && !self.object
    }

    fn is_only_object_or_null(&self) -> bool {
        !(self.boolean || self.number || self.string || self.array)
    }

    fn is_only_array_or_null(&self) -> bool {
        !(self.boolean || self.number || self.string || self.object)
    }
}

/// Returns the values that an alternative allows.
fn given(root: &Value, place: &Alternative<'_>) -> ValueClass {
    let types = Types::of(place);
    let listed = place.iter().find_map(|keywords| match keywords.get("const") {
        Some(only) => Some(vec![only.clone()]),
        None => keywords.get("enum")?.as_array().cloned(),
    });
    ValueClass {
        listed,
        booleans: types.boolean,
        numbers: types.number.then(|| numbers(place, types.integer)),
        strings: types.string.then(|| lengths(place)).filter(Lengths::has_any),
        others: types.array || types.object,
        accepts: accepts(root, place),
    }
}

fn numbers(place: &Alternative<'_>, integer: bool) -> Numbers {
    let all = |keyword: &'static str| {
        place.iter().filter_map(move |keywords| keywords.get(keyword)?.as_f64())
    };
    let steps = all("multipleOf").filter(|step| step.fract() == 0.0);
    Numbers {
        least: all("minimum").chain(all("exclusiveMinimum")).reduce(f64::max),
        greatest: all("maximum").chain(all("exclusiveMaximum")).reduce(f64::min),
        step: steps.chain(integer.then_some(1.0)).reduce(f64::max),
    }
}

fn lengths(place: &Alternative<'_>) -> Lengths {
    let all = |keyword: &'static str| {
        let bounds = place.iter().filter_map(move |keywords| keywords.get(keyword)?.as_u64());
        bounds.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
    };
    Lengths { least: all("minLength").max().unwrap_or(0), greatest: all("maxLength").min() }
}

/// Returns true if a schema refers to no other.
fn is_self_contained(schema: &Value) -> bool {
    let text = schema.to_string();
    !text.contains("Ref\"") && !text.contains("$ref\"")
}

/// Returns a function that tells whether an alternative allows a value. It uses the validator itself.
fn accepts(root: &Value, place: &Alternative<'_>) -> Arc<dyn Fn(&Value) -> bool + Send + Sync> {
    let plain = |keywords: &&Map<String, Value>| {
        let of_this = |key: &&str| {
            keywords.get(*key).or_else(|| (*key == "$schema").then(|| root.get(*key))?)
        };
        let members = PLAIN.iter().filter_map(|key| {
            let value = of_this(key).filter(|value| *key != "not" || is_self_contained(value))?;
            Some(((*key).to_owned(), value.clone()))
        });
        let plain: Map<String, Value> = members.collect();
        let says = plain.keys().any(|key| key != "$schema");
        says.then(|| Schema::compile(&Value::Object(plain).to_string()).ok()).flatten()
    };
    let schemas: Vec<Arc<Schema>> = place.iter().filter_map(plain).collect();
    Arc::new(move |value| schemas.iter().all(|schema| schema.check(value).is_ok()))
}
