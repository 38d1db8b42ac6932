//! A tool in one line, like a declaration: `find(query: string, limit: integer = 50) -> string[]`.

use std::cell::Cell;
use std::collections::HashSet;

use candor::operator::shown::{json_shown, shown};
use candor_schema::BOX_KEYWORD;
use serde_json::Value;

use crate::shape::{Alternative, Kinds, Shape};
use crate::width::{columns, cut};

/// A tool, as a server describes it. All of it is untrusted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool<'a> {
    pub(crate) name: &'a str,
    pub(crate) input: &'a Value,
    pub(crate) output: Option<&'a Value>,
}

/// The maximum number of choices, columns of a value, and types in one line.
const CHOICES: usize = 8;
const LETTERS: usize = 24;
const TYPES: usize = 400;

impl Tool<'_> {
    /// Returns the line, at most `width` columns wide. A line that is too long loses nested members first, then its last
    /// parameters.
    pub(crate) fn signature(&self, width: usize) -> String {
        let name = named(self.name);
        let parts = |depth: usize| {
            let writer = Writer { left: Cell::new(TYPES) };
            let parameters = writer.members(&Shape::of(self.input), depth);
            let returned =
                self.output.map(|output| format!(" -> {}", writer.returned(output, depth)));
            (parameters, returned.unwrap_or_default())
        };
        let fits = |text: &String| columns(text) <= width;
        for depth in [3, 1, 0] {
            let (parameters, returned) = parts(depth);
            let line = format!("{name}({}){returned}", parameters.join(", "));
            if fits(&line) {
                return line;
            }
        }
        let (parameters, returned) = parts(0);
        let fewer = (0..parameters.len()).rev().map(|most| {
            let first = parameters[..most].iter().map(|parameter| format!("{parameter}, "));
            format!("{name}({}…){returned}", first.collect::<String>())
        });
        let shortest = || cut(&format!("{name}(…){returned}"), width);
        fewer.into_iter().find(fits).unwrap_or_else(shortest)
    }
}

struct Writer {
    /// How many more types may be written: a schema may be larger than any line.
    left: Cell<usize>,
}

impl Writer {
    /// Returns the members: required ones first, each group in the order of the schema.
    fn members(&self, shape: &Shape<'_>, depth: usize) -> Vec<String> {
        let required: HashSet<_> = shape.required().into_iter().collect();
        let (first, then): (Vec<_>, Vec<_>) =
            shape.names().into_iter().partition(|name| required.contains(name));
        let mut members = Vec::new();
        for name in first.into_iter().chain(then) {
            if self.left.get() == 0 {
                members.push("…".to_owned());
                break;
            }
            let Some(member) = shape.member(name) else { continue };
            let default = member.default().map(|value| format!(" = {}", literal(value)));
            let optional = if required.contains(&name) || default.is_some() { "" } else { "?" };
            let kind = self.kind(&member, depth);
            let name = named(name);
            members.push(format!("{name}{optional}: {kind}{}", default.unwrap_or_default()));
        }
        members
    }

    /// Returns the output type. If the value is in a box, it is the type of the value.
    fn returned(&self, schema: &Value, depth: usize) -> String {
        let field = schema.get(BOX_KEYWORD).and_then(|mark| mark.get("field")?.as_str());
        let shape = Shape::of(schema);
        let boxed = field.and_then(|field| shape.member(field));
        self.kind(&boxed.unwrap_or(shape), depth)
    }

    fn kind(&self, shape: &Shape<'_>, depth: usize) -> String {
        let Some(left) = self.left.get().checked_sub(1) else { return "…".to_owned() };
        self.left.set(left);
        let mut kinds: Vec<String> = Vec::new();
        let mut null = false;
        for way in &shape.ways {
            null |= way.kinds.has(Kinds::NULL) && way.kinds != Kinds::ANY;
            for text in self.alternatives(shape, way, depth) {
                if !kinds.contains(&text) {
                    kinds.push(text);
                }
            }
        }
        if kinds.iter().any(|kind| kind == "any") {
            return "any".to_owned();
        }
        // `null` says the least, so it comes last.
        kinds.retain(|kind| kind != "null");
        if null {
            kinds.push("null".to_owned());
        }
        if kinds.is_empty() { "never".to_owned() } else { kinds.join("|") }
    }

    fn alternatives<'a>(
        &self,
        shape: &Shape<'a>,
        way: &Alternative<'a>,
        depth: usize,
    ) -> Vec<String> {
        if let Some(choices) = way.choices() {
            let mut texts: Vec<_> =
                choices.iter().take(CHOICES).map(|value| literal(value)).collect();
            if choices.len() > CHOICES {
                texts.push("…".to_owned());
            }
            return texts;
        }
        if way.kinds == Kinds::ANY {
            return vec!["any".to_owned()];
        }
        let mut texts = Vec::new();
        let mut add = |kind: Kinds, text: &dyn Fn() -> String| {
            if way.kinds.has(kind) {
                texts.push(text());
            }
        };
        add(Kinds::STRING, &|| "string".to_owned());
        add(Kinds::INTEGER, &|| {
            if way.kinds.has(Kinds::FRACTION) { "number" } else { "integer" }.to_owned()
        });
        add(Kinds::BOOLEAN, &|| "boolean".to_owned());
        add(Kinds::ARRAY, &|| {
            let item = self.kind(&shape.only(way).item(), depth);
            if item.contains('|') { format!("({item})[]") } else { format!("{item}[]") }
        });
        add(Kinds::OBJECT, &|| self.object(&shape.only(way), depth));
        add(Kinds::NULL, &|| "null".to_owned());
        texts
    }

    fn object(&self, shape: &Shape<'_>, depth: usize) -> String {
        if shape.names().is_empty() {
            // No member is declared, so a member of any name has the shape of all.
            let values = shape.member("").map(|values| self.kind(&values, depth));
            return match values.as_deref() {
                None => "{}".to_owned(),
                Some("any") => "object".to_owned(),
                Some(kind) => format!("{{[name]: {kind}}}"),
            };
        }
        match depth.checked_sub(1) {
            None => "{…}".to_owned(),
            Some(depth) => format!("{{{}}}", self.members(shape, depth).join(", ")),
        }
    }
}

/// Returns a name as it is if it is distinct from the text around it, otherwise in quotes.
pub(crate) fn named(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '$');
    let safe = cut(name, 64);
    if !name.is_empty() && name.chars().all(plain) { safe } else { quoted(&safe) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// Returns a value as text, truncated if it is long.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) if columns(text) > LETTERS => quoted(&cut(text, LETTERS)),
        Value::Array(_) | Value::Object(_) => {
            cut(&shown(&json_shown(&value.to_string())).to_string(), LETTERS)
        }
        _ => json_shown(&value.to_string()),
    }
}

#[cfg(test)]
mod tests;
