//! Reads a schema into fields.

use std::collections::{HashMap, HashSet};
use std::ptr;

use candor_schema::References;
use serde_json::{Map, Value, json};

use super::{Field, Kind, Pick, Text};

/// Maximum number of fields in one form. Beyond it, the form takes the rest as JSON.
const MOST_FIELDS: usize = 400;

/// Maximum nesting depth of fields.
const DEEPEST: usize = 8;

/// How often a definition may contain itself.
const AGAIN: usize = 2;

/// Maximum number of values to choose from.
const MOST_PICKS: usize = 500;

/// Maximum number of references and combinations to follow for one place.
const HOPS: usize = 64;

/// Reads the arguments that a schema describes.
pub(crate) fn read(schema: &Value) -> Field {
    let mut reader = Reader { named: named(schema), left: MOST_FIELDS, within: Vec::new() };
    let mut field = reader.field(String::new(), schema, true, 0);
    // Arguments are always an object, whatever else the schema allows.
    if !matches!(field.kind, Kind::Group { .. } | Kind::Shapes(_)) {
        field.kind = Kind::Json;
    }
    field
}

/// Returns the initial JSON of the arguments: every required member, with its default or `null`.
pub(crate) fn prefill(schema: &Value) -> Value {
    let reader = Reader { named: named(schema), left: 0, within: Vec::new() };
    let flat = reader.flat(schema).schema;
    let names = flat.get("required").and_then(Value::as_array).into_iter().flatten();
    let member = |name: &str| {
        let schema = flat.get("properties").and_then(|all| all.get(name))?;
        reader.flat(schema).schema.get("default").cloned()
    };
    let members = names.filter_map(Value::as_str);
    Value::Object(
        members.map(|name| (name.to_owned(), member(name).unwrap_or(Value::Null))).collect(),
    )
}

type Schema = Map<String, Value>;

/// A schema, merged with everything that it refers to and combines.
#[derive(Default)]
struct Flat {
    schema: Schema,
    /// The references that were followed.
    through: Vec<String>,
    /// True if `null` was one of the shapes.
    nullable: bool,
}

struct Reader<'a> {
    named: Named<'a>,
    /// The number of fields that may still follow.
    left: usize,
    /// The definitions around the current place.
    within: Vec<String>,
}

impl Reader<'_> {
    fn field(&mut self, name: String, schema: &Value, required: bool, depth: usize) -> Field {
        let Flat { schema: flat, through, mut nullable } = self.flat(schema);
        // This filler, which is meant for models, only repeats the name.
        let filler = format!("Parameter {name}");
        let text = words(&flat, "description").filter(|text| *text != filler);
        let text = text.or_else(|| words(&flat, "title"));
        let again = |name: &String| self.within.iter().filter(|other| *other == name).count();
        let too_far = depth > DEEPEST || through.iter().any(|name| again(name) >= AGAIN);
        self.left = self.left.saturating_sub(1);
        let entered = self.within.len();
        self.within.extend(through);
        let kind = if too_far || self.left == 0 {
            Kind::Json
        } else {
            self.kind(&flat, &mut nullable, depth)
        };
        self.within.truncate(entered);
        Field {
            name,
            text: text.unwrap_or_default(),
            required,
            nullable,
            default: flat.get("default").filter(|default| !default.is_null()).cloned(),
            limits: limits(&flat, &kind),
            kind,
        }
    }

    fn kind(&mut self, flat: &Schema, nullable: &mut bool, depth: usize) -> Kind {
        if let Some(value) = flat.get("const") {
            return Kind::Fixed(value.clone());
        }
        if let Some(Value::Array(values)) = flat.get("enum") {
            *nullable |= values.len() > 1 && values.iter().any(Value::is_null);
            let values = values.iter().filter(|value| !(*nullable && value.is_null()));
            return picked(values.map(|value| Pick { value: value.clone(), text: String::new() }));
        }
        for word in ["oneOf", "anyOf"] {
            match flat.get(word) {
                Some(Value::Array(shapes)) if !shapes.iter().all(is_condition) => {
                    return self.shapes(flat, word, shapes, depth);
                }
                _ => {}
            }
        }
        match types(flat, nullable)[..] {
            [one] => self.typed(one, flat, depth),
            [] => Kind::Json,
            ref several => {
                let mut shapes = Vec::new();
                for one in several {
                    let kind = self.typed(one, flat, depth + 1);
                    shapes.push(Field {
                        limits: limits(flat, &kind),
                        ..bare((*one).to_owned(), kind)
                    });
                }
                Kind::Shapes(shapes)
            }
        }
    }

    /// Returns a choice between shapes. Keywords beside the choice apply to each shape.
    fn shapes(&mut self, flat: &Schema, word: &str, shapes: &[Value], depth: usize) -> Kind {
        if shapes.len() > self.left {
            return Kind::Json;
        }
        let mut beside = flat.clone();
        for word in [word, "description", "title", "default"] {
            beside.remove(word);
        }
        let whole: Vec<Value> =
            shapes.iter().map(|shape| json!({"allOf": [shape, beside]})).collect();
        let flats: Vec<Schema> = whole.iter().map(|shape| self.flat(shape).schema).collect();
        if flats.iter().all(|shape| single(shape).is_some()) {
            return picked(flats.iter().filter_map(|shape| {
                let text = words(shape, "description").unwrap_or_default();
                Some(Pick { value: single(shape)?.clone(), text })
            }));
        }
        let tag = tag(&flats);
        let mut fields: Vec<Field> = Vec::new();
        for (shape, flat) in whole.iter().zip(&flats) {
            let tagged =
                tag.as_deref().and_then(|tag| single(flat["properties"][tag].as_object()?));
            let name = tagged.map(plain).or_else(|| words(flat, "title")).unwrap_or_default();
            let mut field = self.field(name, shape, true, depth + 1);
            if field.name.is_empty() {
                field.name = super::type_of(&field);
            }
            if fields.iter().any(|other| other.name == field.name) {
                field.name = format!("{} ({})", field.name, fields.len() + 1);
            }
            fields.push(field);
        }
        Kind::Shapes(fields)
    }

    fn typed(&mut self, kind: &str, flat: &Schema, depth: usize) -> Kind {
        match kind {
            "string" => Kind::Text(text(flat)),
            "integer" => Kind::Number { whole: true },
            "number" => Kind::Number { whole: false },
            "boolean" => Kind::Truth,
            "object" => self.group(flat, depth),
            "array" => self.list(flat, depth),
            _ => Kind::Json,
        }
    }

    fn group(&mut self, flat: &Schema, depth: usize) -> Kind {
        let none = Map::new();
        let properties = flat.get("properties").and_then(Value::as_object).unwrap_or(&none);
        if properties.len() > self.left {
            return Kind::Json;
        }
        let required: Vec<&str> =
            array(flat, "required").iter().filter_map(Value::as_str).collect();
        let mut fields: Vec<Field> = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            // No value is valid, so the member can only be omitted.
            if *schema == Value::Bool(false) {
                continue;
            }
            let is_required = required.contains(&name.as_str());
            fields.push(self.field(name.clone(), schema, is_required, depth + 1));
        }
        let patterns = flat.get("patternProperties").and_then(Value::as_object);
        let rest = flat
            .get("additionalProperties")
            .filter(|rest| rest.as_object().is_some_and(|rest| !rest.is_empty()))
            .or_else(|| patterns.filter(|all| all.len() == 1)?.values().next());
        let rest = rest.map(|schema| Box::new(self.field(String::new(), schema, true, depth + 1)));
        let closed = flat.get("additionalProperties") == Some(&Value::Bool(false));
        if fields.is_empty() && rest.is_none() && !closed && depth > 0 {
            return Kind::Json;
        }
        Kind::Group { fields, rest }
    }

    fn list(&mut self, flat: &Schema, depth: usize) -> Kind {
        let places = match flat.get("items") {
            // The form of drafts before 2020-12.
            Some(Value::Array(places)) => places,
            _ => array(flat, "prefixItems"),
        };
        if !places.is_empty() {
            if places.len() > self.left {
                return Kind::Json;
            }
            let mut fields = Vec::new();
            for place in places {
                fields.push(self.field(String::new(), place, true, depth + 1));
            }
            return Kind::Tuple(fields);
        }
        match flat.get("items") {
            Some(items @ Value::Object(of)) if !of.is_empty() => {
                Kind::List(Box::new(self.field(String::new(), items, true, depth + 1)))
            }
            _ => Kind::List(Box::new(bare(String::new(), Kind::Json))),
        }
    }

    /// Merges a schema with everything that it refers to and combines.
    fn flat(&self, schema: &Value) -> Flat {
        let mut flat = Flat::default();
        let mut parts = vec![schema.as_object().cloned().unwrap_or_default()];
        for _ in 0..HOPS {
            let Some(mut part) = parts.pop() else { break };
            let mut more = Vec::new();
            if let Some(Value::String(name)) = part.remove("$ref") {
                more.extend(self.named.get(&*name).copied().flatten().cloned());
                flat.through.push(name);
            }
            if let Some(Value::Array(all)) = part.remove("allOf") {
                more.extend(all);
            }
            for word in ["oneOf", "anyOf"] {
                let Some(Value::Array(shapes)) = part.get_mut(word) else { continue };
                let before = shapes.len();
                shapes.retain(|shape| !is_null(shape));
                flat.nullable |= shapes.len() < before;
                if shapes.len() == 1 {
                    more.append(shapes);
                }
                if shapes.is_empty() {
                    part.remove(word);
                }
            }
            merge(&mut flat.schema, part);
            parts.extend(more.into_iter().rev().filter_map(|part| match part {
                Value::Object(part) => Some(part),
                _ => None,
            }));
        }
        flat
    }
}

/// The targets of references, by the text of the reference. `None` if the text is ambiguous.
type Named<'a> = HashMap<&'a str, Option<&'a Value>>;

/// Collects the references of a schema, resolved as the validator does. Nothing is fetched. The key is the reference's text,
/// because fields are read from copies of the schema. In schemas with their own ids, one text may have two targets. Such a text
/// leads nowhere.
fn named(root: &Value) -> Named<'_> {
    let mut named = Named::new();
    let Some(mut references) = References::of(root) else { return named };
    let (mut open, mut entered) = (vec![root], HashSet::new());
    while let Some(at) = open.pop() {
        if let Some(name) = at.get("$ref").and_then(Value::as_str)
            && let Some(&target) = references.from(at).unwrap_or_default().first()
        {
            let known = named.entry(name).or_insert(Some(target));
            *known = known.filter(|known| ptr::eq(*known, target));
            // A place may become a schema only because a reference leads to it.
            if entered.insert(ptr::from_ref(target)) {
                open.push(target);
            }
        }
        match at {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    named
}

/// Adds the keywords of another schema. Existing keywords win: they are closer to the place.
fn merge(flat: &mut Schema, more: Schema) {
    for (word, said) in more {
        match (word.as_str(), flat.get_mut(&word), said) {
            ("properties", Some(Value::Object(here)), Value::Object(more)) => {
                for (name, schema) in more {
                    here.entry(name).or_insert(schema);
                }
            }
            ("required", Some(Value::Array(here)), Value::Array(more)) => here.extend(more),
            (_, Some(_), _) => {}
            (_, None, said) => {
                flat.insert(word, said);
            }
        }
    }
}

/// Returns true if only `null` is valid.
fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|said| said == "null")
        || schema.get("const").is_some_and(Value::is_null)
}

/// Returns true if a schema only requires or excludes members. That is a condition, not a shape to choose.
fn is_condition(schema: &Value) -> bool {
    const CONDITIONS: [&str; 4] = ["required", "not", "description", "title"];
    let words = schema.as_object();
    words.is_some_and(|all| all.keys().all(|word| CONDITIONS.contains(&word.as_str())))
}

/// Returns such conditions in words: `needs phone or email`.
fn conditions(flat: &Schema) -> Option<String> {
    let all = ["oneOf", "anyOf"].into_iter().flat_map(|word| array(flat, word));
    let names = |schema: &Value| {
        let names: Vec<&str> =
            schema["required"].as_array()?.iter().filter_map(Value::as_str).collect();
        Some(names.join(" and "))
    };
    let all: Vec<String> = all.filter(|schema| is_condition(schema)).filter_map(names).collect();
    (!all.is_empty()).then(|| format!("needs {}", all.join(" or ")))
}

fn bare(name: String, kind: Kind) -> Field {
    Field {
        name,
        text: String::new(),
        required: true,
        nullable: false,
        default: None,
        limits: Vec::new(),
        kind,
    }
}

fn array<'a>(flat: &'a Schema, word: &str) -> &'a [Value] {
    flat.get(word).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn words(flat: &Schema, word: &str) -> Option<String> {
    flat.get(word).and_then(Value::as_str).map(str::trim).map(str::to_owned)
}

/// Returns a value as users write it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the only valid value, if there is exactly one.
fn single(flat: &Schema) -> Option<&Value> {
    match array(flat, "enum") {
        [one] => Some(one),
        _ => flat.get("const"),
    }
}

/// Returns the member that tells the shapes apart: each shape requires it, with one value.
fn tag(shapes: &[Schema]) -> Option<String> {
    let fits = |shape: &Schema, name: &str| {
        let member = shape.get("properties").and_then(|all| all.get(name)?.as_object());
        let must = array(shape, "required").iter().any(|other| other == name);
        must && member.and_then(single).is_some()
    };
    let first = shapes.first()?.get("properties")?.as_object()?;
    first.keys().find(|name| shapes.iter().all(|shape| fits(shape, name))).cloned()
}

fn picked(picks: impl Iterator<Item = Pick>) -> Kind {
    let picks: Vec<Pick> = picks.collect();
    match picks.len() {
        0 => Kind::Json,
        1..=MOST_PICKS => Kind::Choice(picks),
        _ if picks.iter().all(|pick| pick.value.is_string()) => Kind::Text(Text::Line),
        _ => Kind::Json,
    }
}

/// Returns the valid types, without `null`.
fn types(flat: &Schema, nullable: &mut bool) -> Vec<&'static str> {
    const ALL: [&str; 6] = ["string", "integer", "number", "boolean", "object", "array"];
    let known = |said: &Value| ALL.into_iter().find(|name| said == name);
    let has = |words: &[&str]| words.iter().any(|word| flat.contains_key(*word));
    match flat.get("type") {
        Some(Value::Array(types)) => {
            *nullable |= types.iter().any(|said| said == "null");
            types.iter().filter_map(known).collect()
        }
        Some(said) => known(said).into_iter().collect(),
        None if has(&["properties", "additionalProperties", "patternProperties"]) => {
            vec!["object"]
        }
        None if has(&["items", "prefixItems"]) => vec!["array"],
        None if has(&["minLength", "maxLength", "pattern", "format"]) => vec!["string"],
        None if has(&["minimum", "maximum", "multipleOf"]) => vec!["number"],
        None => Vec::new(),
    }
}

fn text(flat: &Schema) -> Text {
    let short = flat.get("maxLength").and_then(Value::as_u64).is_some_and(|most| most <= 100);
    let secret =
        ["writeOnly", "x-secret"].iter().any(|name| flat.get(*name) == Some(&Value::Bool(true)));
    match flat.get("format").and_then(Value::as_str) {
        _ if secret => Text::Secret,
        Some("date") => Text::Date,
        Some("date-time") => Text::DateTime,
        Some("email" | "idn-email") => Text::Email,
        Some("uri" | "iri" | "url") => Text::Uri,
        Some("uuid") => Text::Uuid,
        Some("password") => Text::Secret,
        Some(_) => Text::Line,
        None if short || flat.contains_key("pattern") => Text::Line,
        None => Text::Free,
    }
}

/// Returns the constraints on a value, in words.
fn limits(flat: &Schema, kind: &Kind) -> Vec<String> {
    let mut all = Vec::new();
    let number = |word: &str| flat.get(word).filter(|value| value.is_number());
    let mut range = |least: &str, most: &str, what: &str| {
        let last = number(most).or_else(|| number(least));
        let what = match last.and_then(Value::as_u64) {
            Some(1) => what.strip_suffix('s').unwrap_or(what),
            _ => what,
        };
        let said = match (number(least), number(most)) {
            (Some(least), Some(most)) if least == most => format!("exactly {least}{what}"),
            (Some(least), Some(most)) => format!("{least} to {most}{what}"),
            (Some(least), None) => format!("at least {least}{what}"),
            (None, Some(most)) => format!("at most {most}{what}"),
            (None, None) => return,
        };
        all.push(said);
    };
    match kind {
        Kind::Number { .. } => range("minimum", "maximum", ""),
        Kind::Text(_) => range("minLength", "maxLength", " characters"),
        Kind::List(_) | Kind::Tuple(_) => range("minItems", "maxItems", " items"),
        Kind::Group { .. } => range("minProperties", "maxProperties", " members"),
        _ => {}
    }
    if let Kind::Group { .. } = kind {
        all.extend(conditions(flat));
    }
    let more: &[(&str, &str)] = match kind {
        Kind::Number { .. } => &[
            ("exclusiveMinimum", "more than"),
            ("exclusiveMaximum", "less than"),
            ("multipleOf", "a multiple of"),
        ],
        _ => &[],
    };
    for (word, what) in more {
        all.extend(number(word).map(|value| format!("{what} {value}")));
    }
    if let Kind::Text(text) = kind {
        all.extend(words(flat, "pattern").map(|pattern| format!("matches {pattern}")));
        if matches!(text, Text::Line | Text::Secret) {
            all.extend(words(flat, "format").map(|format| format!("as {format}")));
        }
        let values = array(flat, "enum").len();
        if values > 0 {
            all.push(format!("one of {values} values"));
        }
    }
    if matches!(kind, Kind::List(_)) && flat.get("uniqueItems") == Some(&Value::Bool(true)) {
        all.push("no two alike".to_owned());
    }
    all
}
