//! What the validator found, in words that a model can act on: where, what was expected, what was received.
//!
//! A pointer names the member itself, also one that is missing or should not be there. A value that fits
//! none of several alternatives is explained by the one it was meant for.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use crate::nearest::nearest;
use crate::violation::{Violation, below, shorten};
use crate::walk::resolve;
use crate::words::{self, counted, listed, one_of, quoted, received};

/// How many violations one answer names. More help nobody, and a hostile value could cause millions.
const NAMED: usize = 20;

/// Explains what is wrong; `schema` is the whole document.
pub(crate) fn explain<'a>(
    schema: &Value,
    errors: impl Iterator<Item = ValidationError<'a>>,
) -> Vec<Violation> {
    let mut explanation = Explanation { schema, violations: Vec::new() };
    for error in errors {
        if explanation.is_full() {
            break;
        }
        explanation.add(&error);
    }
    explanation.violations
}

struct Explanation<'s> {
    schema: &'s Value,
    violations: Vec<Violation>,
}

impl Explanation<'_> {
    fn is_full(&self) -> bool {
        self.violations.len() >= NAMED
    }

    fn say(&mut self, pointer: impl Into<String>, problem: impl Into<String>) {
        let violation = Violation::new(pointer, problem);
        if !self.is_full() && !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    fn add(&mut self, error: &ValidationError<'_>) {
        let at = error.instance_path().as_str();
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let expected = self.surrounding(error).and_then(|s| s.get("properties")?.get(name));
                let expected =
                    expected.map_or("a value".to_owned(), |s| words::expected(self.schema, s));
                self.say(below(at, name), format!("required, but missing; expected {expected}"));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    let problem = self.unknown(error, name);
                    self.say(below(at, name), problem);
                }
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.add_alternatives(error, context);
            }
            Kind::PropertyNames { error: inner } => {
                let name = inner.instance().as_str().unwrap_or_default();
                self.say(below(at, name), format!("as a name: {}", problem(inner)));
            }
            _ => self.say(at, problem(error)),
        }
    }

    /// The schema that holds the keyword which failed.
    fn surrounding(&self, error: &ValidationError<'_>) -> Option<&Value> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(parent)
    }

    fn unknown(&self, error: &ValidationError<'_>, name: &str) -> String {
        let known = self.surrounding(error).and_then(|s| s.get("properties")?.as_object());
        let Some(known) = known.filter(|known| !known.is_empty()) else {
            return "unknown member; no more members are allowed here".to_owned();
        };
        // A member that is there already was not meant.
        let free = known.keys().filter(|name| error.instance().get(name).is_none());
        match nearest(name, free.map(String::as_str)) {
            Some(meant) => format!("unknown member; did you mean `{meant}`?"),
            None => format!(
                "unknown member; known are {}",
                listed(known.keys().map(|name| format!("`{name}`")))
            ),
        }
    }

    fn add_alternatives(
        &mut self,
        error: &ValidationError<'_>,
        context: &[Vec<ValidationError<'static>>],
    ) {
        let at = error.instance_path().as_str();
        let value = error.instance();
        let branches = self.schema.pointer(error.schema_path().as_str()).and_then(Value::as_array);
        if let Some(branches) = branches
            && let Some(tag) = Tag::of(self.schema, branches)
            && value.is_object()
        {
            let given = value.get(tag.name);
            match tag.values.iter().find(|(_, fixed)| given == Some(*fixed)) {
                Some((branch, _)) => context.get(*branch).into_iter().flatten().for_each(|inner| {
                    self.add(inner);
                }),
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
                let expected = self
                    .surrounding(error)
                    .map_or("another value".to_owned(), |s| words::expected(self.schema, s));
                self.say(at, format!("expected {expected}, received {}", received(value)));
            }
        }
    }
}

/// How badly an alternative fits; what counts most stands first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Misfit {
    /// It is for values of another type altogether.
    another_type: bool,
    /// Members that are fixed differently: it is another variant.
    fixed: usize,
    /// Members missing or unknown: it is probably another variant.
    members: usize,
    /// Things wrong further inside.
    inside: usize,
}

fn misfit(at: &str, errors: &[ValidationError<'_>]) -> Misfit {
    let mut misfit = Misfit { another_type: false, fixed: 0, members: 0, inside: 0 };
    for error in errors {
        let here = error.instance_path().as_str() == at;
        match error.kind() {
            Kind::Type { .. } | Kind::FalseSchema if here => misfit.another_type = true,
            Kind::Constant { .. } => misfit.fixed += 1,
            Kind::AdditionalProperties { unexpected } if here => misfit.members += unexpected.len(),
            Kind::Required { .. } if here => misfit.members += 1,
            _ => misfit.inside += 1,
        }
    }
    misfit
}

/// A member that every object among the alternatives fixes to a value of its own.
struct Tag<'s> {
    name: &'s str,
    /// The number of the alternative, and its value.
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

    fn problem(&self, given: Option<&Value>) -> String {
        let expected = one_of(self.values.iter().map(|(_, value)| quoted(value)));
        match given {
            None => format!("required, but missing; expected {expected}"),
            Some(given) => mistaken(&expected, given, self.values.iter().map(|(_, value)| *value)),
        }
    }
}

fn fixed(schema: &Value) -> Option<&Value> {
    schema.get("const").or_else(|| match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

/// A value that is none of the allowed ones.
fn mistaken<'v>(expected: &str, given: &Value, allowed: impl Iterator<Item = &'v Value>) -> String {
    let meant = given.as_str().and_then(|given| nearest(given, allowed.filter_map(Value::as_str)));
    let received = received(given);
    match meant {
        Some(meant) => {
            format!("expected {expected}, received {received}; did you mean \"{meant}\"?")
        }
        None => format!("expected {expected}, received {received}"),
    }
}

/// What is wrong with the value itself.
fn problem(error: &ValidationError<'_>) -> String {
    let value = error.instance().as_ref();
    let length = |noun: &str| match value {
        Value::String(text) => counted(text.chars().count(), noun),
        Value::Array(items) => counted(items.len(), noun),
        Value::Object(members) => counted(members.len(), noun),
        _ => received(value),
    };
    let (expected, received) = match error.kind() {
        Kind::Type { kind: TypeKind::Single(name) } => {
            (words::article(name.as_str()).to_owned(), received(value))
        }
        Kind::Type { kind: TypeKind::Multiple(names) } => {
            let names: Vec<_> = names.iter().map(|name| words::article(name.as_str())).collect();
            (names.join(" or "), received(value))
        }
        Kind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            let expected = one_of(options.iter().map(quoted));
            return mistaken(&expected, value, options.iter());
        }
        Kind::Constant { expected_value } => (quoted(expected_value), received(value)),
        Kind::Minimum { limit } => (format!("at least {limit}"), value.to_string()),
        Kind::Maximum { limit } => (format!("at most {limit}"), value.to_string()),
        Kind::ExclusiveMinimum { limit } => (format!("more than {limit}"), value.to_string()),
        Kind::ExclusiveMaximum { limit } => (format!("less than {limit}"), value.to_string()),
        Kind::MultipleOf { multiple_of } => {
            (format!("a multiple of {multiple_of}"), value.to_string())
        }
        Kind::MinLength { limit } => {
            (format!("at least {}", counted(*limit, "character")), length("character"))
        }
        Kind::MaxLength { limit } => {
            (format!("at most {}", counted(*limit, "character")), length("character"))
        }
        Kind::MinItems { limit } => {
            (format!("at least {}", counted(*limit, "item")), length("item"))
        }
        Kind::MaxItems { limit } => {
            (format!("at most {}", counted(*limit, "item")), length("item"))
        }
        Kind::AdditionalItems { limit } => {
            (format!("at most {}", counted(*limit, "item")), length("item"))
        }
        Kind::MinProperties { limit } => {
            (format!("at least {}", counted(*limit, "member")), length("member"))
        }
        Kind::MaxProperties { limit } => {
            (format!("at most {}", counted(*limit, "member")), length("member"))
        }
        Kind::Pattern { pattern } => {
            (format!("a string that matches {}", shorten(pattern)), quoted(value))
        }
        Kind::Format { format } => (format!("a string of format {format}"), quoted(value)),
        Kind::UniqueItems => {
            return "expected items that all differ, received equal ones".to_owned();
        }
        Kind::Contains => return "expected at least one item of the required form".to_owned(),
        // The validator's word for a closed object that names no member.
        Kind::FalseSchema if error.schema_path().as_str().ends_with("/additionalProperties") => {
            return "expected an object without members".to_owned();
        }
        Kind::FalseSchema => return "nothing is allowed here".to_owned(),
        Kind::Not { schema } => (format!("anything but {}", quoted(schema)), received(value)),
        Kind::OneOfMultipleValid { .. } => {
            return "fits more than one of the alternatives; exactly one is allowed".to_owned();
        }
        _ => return shorten(&error.to_string()),
    };
    format!("expected {expected}, received {received}")
}
