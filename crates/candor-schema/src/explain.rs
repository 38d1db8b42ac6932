//! Turns the validator's failures into messages that a model can act on: where, what was expected, what was received.
//!
//! A pointer names the member itself, even if the member is missing or unknown. If a value matches none of several
//! alternatives, the explanation is about the alternative that it was probably meant for.

use serde_json::Value;

use crate::keys;
use crate::nearest::nearest;
use crate::validate::{Failure, Kind, Validator, whole};
use crate::violation::{Violation, below, shorten};
use crate::walk::resolve;
use crate::words::{self, counted, listed, one_of, quoted, received};

/// Maximum number of violations in one explanation. More do not help, and a hostile value could cause millions.
const NAMED: usize = 20;

/// Explains what is wrong with a value. `document` is the schema as written. The result is never empty.
pub(crate) fn explain(document: &Value, validator: &Validator, value: &Value) -> Vec<Violation> {
    let mut explanation =
        Explanation { document, validator, keyword: None, violations: Vec::new() };
    for failure in validator.failures(value) {
        if explanation.is_full() {
            break;
        }
        explanation.add(&failure);
    }
    if explanation.violations.is_empty() {
        explanation.say("", "is invalid, with too many violations of the schema to list");
    }
    explanation.violations
}

/// The message about one place, and what was expected there.
struct PlaceText {
    problem: String,
    expected: Option<String>,
    allowed: Vec<Value>,
}

impl PlaceText {
    fn expected(expected: String, received: &str) -> Self {
        let problem = format!("expected {expected}, received {received}");
        Self { problem, expected: Some(expected), allowed: Vec::new() }
    }

    fn missing(expected: String) -> Self {
        let problem = format!("required, but missing; expected {expected}");
        Self { problem, expected: Some(expected), allowed: Vec::new() }
    }

    fn allowing(self, allowed: Vec<Value>) -> Self {
        Self { allowed, ..self }
    }
}

impl<T: Into<String>> From<T> for PlaceText {
    fn from(problem: T) -> Self {
        Self { problem: problem.into(), expected: None, allowed: Vec::new() }
    }
}

struct Explanation<'s> {
    document: &'s Value,
    validator: &'s Validator,
    /// The keyword of the current failure.
    keyword: Option<&'static str>,
    violations: Vec<Violation>,
}

impl Explanation<'_> {
    fn is_full(&self) -> bool {
        self.violations.len() >= NAMED
    }

    fn say(&mut self, pointer: impl Into<String>, said: impl Into<PlaceText>) {
        let PlaceText { problem, expected, allowed } = said.into();
        let violation = Violation::new(pointer, problem).allowing(allowed);
        let violation = match expected {
            Some(expected) => violation.expecting(expected),
            None => violation,
        };
        // Two keywords may fail with the same message: report it once.
        let same = |other: &Violation| {
            other.pointer == violation.pointer && other.problem == violation.problem
        };
        if !self.is_full() && !self.violations.iter().any(same) {
            self.violations.push(Violation { keyword: self.keyword, ..violation });
        }
    }

    fn add(&mut self, failure: &Failure<'_>) {
        let at = failure.at.as_str();
        self.keyword = Some(failure.keyword);
        match &failure.kind {
            Kind::Missing(names) => self.add_missing(failure, names),
            Kind::Unknown(names) => {
                for name in names {
                    let problem = self.unknown(failure, name);
                    self.say(below(at, name), problem);
                }
            }
            Kind::NoAlternative(context) => self.add_alternatives(failure, context),
            Kind::Name(inner) => {
                let name = inner.value.as_str().unwrap_or_default();
                let said = self.problem(inner);
                let problem = format!("as a name: {}", said.problem);
                self.say(below(at, name), PlaceText { problem, ..said });
            }
            _ => {
                let problem = self.problem(failure);
                self.say(at, problem);
            }
        }
    }

    /// Returns the schema that holds the failed keyword.
    fn surrounding(&self, failure: &Failure<'_>) -> Option<&Value> {
        self.document.pointer(&self.validator.place(failure.node))
    }

    fn add_missing(&mut self, failure: &Failure<'_>, names: &[String]) {
        let said: Vec<_> = self
            .in_order(failure, names)
            .into_iter()
            .map(|name| {
                let schema = self.surrounding(failure).and_then(|s| s.get("properties")?.get(name));
                let said = match schema {
                    None => PlaceText::missing("a value".to_owned()),
                    Some(schema) => PlaceText::missing(words::expected(self.document, schema))
                        .allowing(words::allowed(self.document, schema)),
                };
                (below(&failure.at, name), said)
            })
            .collect();
        for (pointer, said) in said {
            self.say(pointer, said);
        }
    }

    /// Returns the missing names in the order in which the schema lists them.
    fn in_order<'n>(&self, failure: &Failure<'_>, names: &'n [String]) -> Vec<&'n String> {
        let required = self.surrounding(failure).and_then(|s| s.get(failure.keyword)?.as_array());
        let place = |name: &str| required?.iter().position(|other| other == name);
        let mut names: Vec<_> = names.iter().collect();
        names.sort_by_key(|name| place(name));
        names.truncate(NAMED);
        names
    }

    fn unknown(&self, failure: &Failure<'_>, name: &str) -> String {
        let schema = self.surrounding(failure);
        let known = schema.and_then(|s| s.get("properties")?.as_object());
        let patterns = schema.and_then(|s| s.get("patternProperties")?.as_object());
        let names = patterns.filter(|patterns| !patterns.is_empty()).map(|patterns| {
            let names = patterns.keys().map(|pattern| {
                keys::described(pattern)
                    .unwrap_or_else(|| format!("a text that matches {}", shorten(pattern)))
            });
            names.collect::<Vec<_>>().join(" or ")
        });
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            return match names {
                Some(names) => {
                    format!("expected {names} as a name, received {}", quoted(&name.into()))
                }
                None => "unknown member; no more members are allowed here".to_owned(),
            };
        };
        // Do not suggest a member that the value already has.
        let free = known.keys().filter(|name| failure.value.get(name).is_none());
        match nearest(name, free.map(String::as_str)) {
            Some(meant) => format!("unknown member; did you mean `{meant}`?"),
            None => format!(
                "unknown member; known are {}{}",
                listed(known.keys().map(|name| format!("`{name}`"))),
                names.map(|names| format!(", and {names}")).unwrap_or_default()
            ),
        }
    }

    fn add_alternatives(&mut self, failure: &Failure<'_>, context: &[Vec<Failure<'_>>]) {
        let at = failure.at.as_str();
        let value = failure.value.as_ref();
        let document = self.document;
        let schema = document.pointer(&self.validator.place(failure.node));
        let branches = schema.and_then(|s| s.get(failure.keyword)?.as_array());
        if let Some(branches) = branches
            && let Some(tag) = Tag::of(document, branches)
            && value.is_object()
        {
            let given = value.get(tag.name);
            let meant = tag.values.iter().filter(|(_, fixed)| given == Some(*fixed));
            // A value with several tags has one alternative for each combination, so several may have this tag.
            let best = meant
                .filter_map(|(branch, _)| context.get(*branch))
                .min_by_key(|branch| misfit(at, branch));
            match best {
                Some(branch) => branch.iter().for_each(|inner| self.add(inner)),
                None => self.say(below(at, tag.name), tag.problem(given)),
            }
            return;
        }
        let mut misfits: Vec<_> =
            context.iter().map(|branch| (misfit(at, branch), branch)).collect();
        misfits.sort_by_key(|(misfit, _)| *misfit);
        match misfits.as_slice() {
            [(best, branch), rest @ ..]
                if !best.another_type && rest.first().is_none_or(|(next, _)| best < next) =>
            {
                branch.iter().for_each(|inner| self.add(inner));
            }
            _ => {
                let expected =
                    schema.map_or("another value".to_owned(), |s| words::expected(document, s));
                let allowed = schema.map(|s| words::allowed(document, s)).unwrap_or_default();
                self.say(at, PlaceText::expected(expected, &received(value)).allowing(allowed));
            }
        }
    }

    /// Describes what is wrong with the value itself.
    fn problem(&self, failure: &Failure<'_>) -> PlaceText {
        let keyword = failure.keyword;
        let schema = self.surrounding(failure);
        let asked = schema.and_then(|s| s.get(keyword)).unwrap_or(&Value::Null);
        let said = problem(failure, keyword, asked, schema);
        match (keyword, schema) {
            ("enum" | "const", Some(schema)) => {
                said.allowing(words::allowed(self.document, schema))
            }
            _ => said,
        }
    }
}

/// How far a value is from an alternative. The most important field comes first, for the derived order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Misfit {
    /// The alternative is for values of another type.
    another_type: bool,
    /// Members with another fixed value: it is another variant.
    fixed: usize,
    /// Members missing or unknown: it is probably another variant.
    members: usize,
    /// Failures further inside.
    inside: usize,
}

fn misfit(at: &str, failures: &[Failure<'_>]) -> Misfit {
    let mut misfit = Misfit { another_type: false, fixed: 0, members: 0, inside: 0 };
    for failure in failures {
        let here = failure.at == at;
        match &failure.kind {
            Kind::Plain
                if here && matches!(failure.keyword, "type" | "false" | "additionalProperties") =>
            {
                misfit.another_type = true;
            }
            Kind::Plain if failure.keyword == "const" => misfit.fixed += 1,
            Kind::Unknown(names) if here && failure.keyword == "additionalProperties" => {
                misfit.members += names.len();
            }
            Kind::Missing(names) if here => misfit.members += names.len(),
            Kind::Missing(names) => misfit.inside += names.len(),
            _ => misfit.inside += 1,
        }
    }
    misfit
}

/// A member that tells alternatives apart: every object among them fixes it to a value.
struct Tag<'s> {
    name: &'s str,
    /// The index of each alternative, and its value.
    values: Vec<(usize, &'s Value)>,
}

impl<'s> Tag<'s> {
    fn of(root: &'s Value, branches: &'s [Value]) -> Option<Self> {
        let objects: Vec<_> = branches
            .iter()
            .map(|branch| resolve(root, branch))
            .enumerate()
            .filter_map(|(i, branch)| Some((i, branch.get("properties")?.as_object()?)))
            .collect();
        let (_, first) = objects.first().filter(|_| objects.len() > 1)?;
        first.keys().find_map(|name| {
            let values: Vec<_> = objects
                .iter()
                .map(|(i, properties)| Some((*i, fixed(properties.get(name)?)?)))
                .collect::<Option<_>>()?;
            Some(Tag { name, values })
        })
    }

    fn problem(&self, given: Option<&Value>) -> PlaceText {
        let mut values: Vec<&Value> = Vec::new();
        for (_, value) in &self.values {
            if !values.contains(value) {
                values.push(value);
            }
        }
        let expected = one_of(values.iter().map(|value| quoted(value)));
        let said = match given {
            None => PlaceText::missing(expected),
            Some(given) => mistaken(expected, given, values.iter().copied()),
        };
        said.allowing(values.into_iter().cloned().collect())
    }
}

fn fixed(schema: &Value) -> Option<&Value> {
    schema.get("const").or_else(|| match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

/// Describes a value that is not one of the allowed values.
fn mistaken<'v>(
    expected: String,
    given: &Value,
    allowed: impl Iterator<Item = &'v Value>,
) -> PlaceText {
    let meant = given.as_str().and_then(|given| nearest(given, allowed.filter_map(Value::as_str)));
    let mut said = PlaceText::expected(expected, &received(given));
    if let Some(meant) = meant {
        said.problem.push_str(&format!("; did you mean \"{meant}\"?"));
    }
    said
}

/// Describes why a value fails a keyword. `asked` is the keyword's value.
fn problem(
    failure: &Failure<'_>,
    keyword: &str,
    asked: &Value,
    schema: Option<&Value>,
) -> PlaceText {
    let value = failure.value.as_ref();
    let length = |noun: &str| match value {
        Value::String(text) => counted(text.chars().count(), noun),
        Value::Array(items) => counted(items.len(), noun),
        Value::Object(members) => counted(members.len(), noun),
        _ => received(value),
    };
    let limit = |noun: &str| counted(whole(asked).unwrap_or_default(), noun);
    let text = || asked.as_str().unwrap_or_default();
    let exclusive = matches!(failure.kind, Kind::Exclusive);
    let (expected, received) = match keyword {
        "type" => (type_names(asked), received(value)),
        "enum" => {
            let options = asked.as_array().map_or(&[][..], Vec::as_slice);
            let expected = one_of(options.iter().map(quoted));
            return mistaken(expected, value, options.iter());
        }
        "const" => (quoted(asked), received(value)),
        "minimum" if !exclusive => (format!("at least {asked}"), value.to_string()),
        "maximum" if !exclusive => (format!("at most {asked}"), value.to_string()),
        "minimum" | "exclusiveMinimum" => (format!("more than {asked}"), value.to_string()),
        "maximum" | "exclusiveMaximum" => (format!("less than {asked}"), value.to_string()),
        "multipleOf" => {
            (format!("a multiple of {}", asked.as_f64().unwrap_or_default()), value.to_string())
        }
        "minLength" => (format!("at least {}", limit("character")), length("character")),
        "maxLength" => (format!("at most {}", limit("character")), length("character")),
        "minItems" => (format!("at least {}", limit("item")), length("item")),
        "maxItems" => (format!("at most {}", limit("item")), length("item")),
        "additionalItems" => {
            let allowed = schema.and_then(|s| s.get("items")?.as_array()).map_or(0, Vec::len);
            (format!("at most {}", counted(allowed, "item")), length("item"))
        }
        "minProperties" => (format!("at least {}", limit("member")), length("member")),
        "maxProperties" => (format!("at most {}", limit("member")), length("member")),
        "pattern" => (format!("a string that matches {}", shorten(text())), quoted(value)),
        "format" => (words::format(text()), quoted(value)),
        "uniqueItems" => {
            return PlaceText::expected("items that all differ".to_owned(), "equal ones");
        }
        "contains" => return "expected at least one item of the required form".into(),
        "unevaluatedItems" => return unevaluated(failure).into(),
        // A closed object that names no member.
        "additionalProperties" => return "expected an object without members".into(),
        "not" => (format!("anything but {}", quoted(asked)), received(value)),
        "anyOf" | "oneOf" if !matches!(failure.kind, Kind::SeveralAlternatives) => {
            let listed = format!("the schemas listed in the '{keyword}' keyword");
            return shorten(&format!("{value} is not valid under any of {listed}")).into();
        }
        "oneOf" => {
            return "fits more than one of the alternatives; exactly one is allowed".into();
        }
        _ => return "nothing is allowed here".into(),
    };
    PlaceText::expected(expected, &received)
}

fn type_names(asked: &Value) -> String {
    match asked {
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).map(words::article);
            names.collect::<Vec<_>>().join(" or ")
        }
        name => words::article(name.as_str().unwrap_or_default()).to_owned(),
    }
}

fn unevaluated(failure: &Failure<'_>) -> String {
    let Kind::Unevaluated(items) = &failure.kind else { return String::new() };
    let were = if items.len() == 1 { "was" } else { "were" };
    let items = items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", ");
    shorten(&format!("Unevaluated items are not allowed ({items} {were} unexpected)"))
}
