//! Prompts from functions: what `#[prompt]` builds.
//!
//! Prompt arguments are strings. The schema of the parameters decides what each string means. A parameter that accepts strings gets
//! it as it is. Any other parameter gets the JSON in it, so `7` is a number and `true` a boolean.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::types::{GetPromptResult, Prompt as Definition, PromptArgument};
use candor_schema::{Invalid, Schema, Violation};
use futures_util::FutureExt;
use serde_json::Value;

use super::{Fill, Prompt, PromptArguments};
use crate::ctx::Ctx;
use crate::ctx::Need;
use crate::tool::Arguments;
use crate::tool::{Input, ToolError};

/// Names the prompt that `#[prompt]` generates from a function. The function itself stays as it is.
#[diagnostic::on_unimplemented(
    message = "`prompts![…]` lists functions that are marked `#[prompt]`, and this one is not",
    label = "put `#[prompt]` on this function"
)]
pub trait PromptFn {
    /// Returns the prompt.
    fn prompt() -> Prompt;
}

/// What `#[prompt]` knows about a function besides its types.
#[derive(Default)]
pub struct PromptSpec {
    /// The prompt's name.
    pub name: &'static str,
    /// Its name for display.
    pub title: Option<&'static str>,
    /// Its description.
    pub description: Option<&'static str>,
    /// The state that it needs.
    pub needs: Vec<Need>,
}

impl Prompt {
    /// Builds a prompt.
    #[doc(hidden)] // for the code that `#[prompt]` generates
    pub fn typed<A, F, R>(spec: PromptSpec, input: Input<A>, run: F) -> Self
    where
        A: Send + 'static,
        F: Fn(A, Ctx) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<GetPromptResult, ToolError>> + Send + 'static,
    {
        let (text, read) = input.into_parts();
        let schema: Value = serde_json::from_str(text.get()).unwrap_or_default();
        let mut definition = Definition::new(spec.name);
        definition.title = spec.title.map(str::to_owned);
        definition.description = spec.description.map(str::to_owned);
        let parameters = Parameters::new(&schema);
        definition.arguments = parameters.arguments();
        let choices = parameters.choices();
        let (compiled, broken) = match Schema::compile(text.get()) {
            Ok(compiled) => (Some(compiled), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let prepare = move |sent: PromptArguments| -> Result<Fill, Invalid> {
            let arguments = parameters.values(sent)?;
            if let Some(schema) = &compiled {
                schema.check(arguments.as_value())?;
            }
            let arguments = read(&arguments)?;
            let run = run.clone();
            Ok(Box::new(move |ctx| run(arguments, ctx).boxed()))
        };
        Self { definition, prepare: Arc::new(prepare), needs: spec.needs, choices, broken }
    }
}

/// The parameters of a function, in order.
struct Parameters(Vec<Parameter>);

struct Parameter {
    name: String,
    description: Option<String>,
    required: bool,
    takes: TextMeaning,
    /// All its values, if there are only a few.
    choices: Vec<String>,
}

/// How an argument's string is converted to a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TextMeaning {
    /// Parsed as JSON.
    Json,
    /// Taken as it is: the parameter accepts certain strings only, such as an enum or a format.
    SomeText,
    /// Taken as it is: the parameter accepts any string.
    AnyText,
}

impl Parameters {
    fn new(schema: &Value) -> Self {
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flatten().map(|(name, property)| {
            let described = property.get("description").and_then(Value::as_str);
            // The text that schema derivation inserts if the author wrote none.
            let filler = format!("Parameter {name}");
            Parameter {
                name: name.clone(),
                description: described.filter(|text| *text != filler).map(str::to_owned),
                required: required(name),
                takes: takes(schema, property),
                choices: choices(schema, property),
            }
        });
        Self(parameters.collect())
    }

    fn arguments(&self) -> Option<Vec<PromptArgument>> {
        let argument = |parameter: &Parameter| {
            let mut argument = PromptArgument::new(parameter.name.as_str());
            argument.description.clone_from(&parameter.description);
            argument.required = Some(parameter.required);
            argument
        };
        (!self.0.is_empty()).then(|| self.0.iter().map(argument).collect())
    }

    fn choices(&self) -> BTreeMap<String, Vec<String>> {
        let having = self.0.iter().filter(|parameter| !parameter.choices.is_empty());
        having.map(|parameter| (parameter.name.clone(), parameter.choices.clone())).collect()
    }

    /// Converts the arguments to the values that the schema expects. The schema checks them later, including unknown ones.
    fn values(&self, sent: PromptArguments) -> Result<Arguments, Invalid> {
        let mut values = Object::new();
        for (name, text) in sent {
            let parameter = self.0.iter().find(|parameter| parameter.name == name);
            let takes = parameter.map_or(TextMeaning::AnyText, |parameter| parameter.takes);
            let optional = parameter.is_some_and(|parameter| !parameter.required);
            // Hosts send an empty string for an argument that the user left out.
            if text.is_empty() && optional && takes != TextMeaning::AnyText {
                continue;
            }
            let json =
                (takes == TextMeaning::Json).then(|| RawValue::from_string(text.clone()).ok());
            values.set(name, json.flatten().unwrap_or_else(|| raw(&text)));
        }
        Arguments::decode(Some((&*raw(&values)).into()))
            .map_err(|problem| Violation::new("", problem).into())
    }
}

/// Returns how a string becomes a value of this schema.
fn takes(root: &Value, schema: &Value) -> TextMeaning {
    leaves(root, schema).into_iter().map(leaf_takes).max().unwrap_or(TextMeaning::AnyText)
}

fn leaf_takes(schema: &Value) -> TextMeaning {
    let names = match schema.get("type") {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    let has = |keyword: &str| schema.get(keyword).is_some();
    let is_text = names.iter().any(|name| name == "string");
    let literals = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    if literals.chain(schema.get("const")).any(Value::is_string) {
        return TextMeaning::SomeText;
    }
    match (is_text, names.is_empty()) {
        (true, _) if has("pattern") || has("format") || has("minLength") => TextMeaning::SomeText,
        (true, _) => TextMeaning::AnyText,
        (false, true) if !has("enum") && !has("const") => TextMeaning::AnyText,
        (false, _) => TextMeaning::Json,
    }
}

/// Returns all values of a schema as strings, if there are only a few.
fn choices(root: &Value, schema: &Value) -> Vec<String> {
    let each: Vec<_> = leaves(root, schema).into_iter().map(leaf_choices).collect();
    // One alternative with unlimited values makes the whole schema unlimited.
    if each.iter().any(Vec::is_empty) { Vec::new() } else { each.concat() }
}

fn leaf_choices(schema: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().map(text).collect(),
        (_, Some(value)) => vec![text(value)],
        _ if schema.get("type").is_some_and(|name| name == "boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        _ => Vec::new(),
    }
}

/// Returns the schemas that alternatives and references lead to, in order and each once: a type may refer to itself. Another visit
/// would find no values that the first did not find.
fn leaves<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let (mut found, mut left, mut seen) = (Vec::new(), vec![schema], HashSet::new());
    while let Some(schema) = left.pop() {
        if !seen.insert(std::ptr::from_ref(schema)) {
            continue;
        }
        let alternatives = alternatives(schema);
        let has_values = schema.get("enum").or(schema.get("const")).is_some();
        if !alternatives.is_empty() {
            left.extend(alternatives.into_iter().rev());
        } else if let Some(definition) = definition(root, schema).filter(|_| !has_values) {
            left.push(definition);
        } else {
            found.push(schema);
        }
    }
    found
}

/// Returns the alternatives of a schema without `null`, because a client leaves out an absent argument.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let all = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    all.filter(|schema| schema.get("type").is_none_or(|name| name != "null")).collect()
}

/// Returns the definition that a schema refers to.
fn definition<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    root.pointer(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn definitions_that_refer_to_each_other_are_visited_once() {
        let reference = |n: usize| json!({"$ref": format!("#/$defs/d{n}")});
        let others: Vec<Value> = (0..40).map(reference).collect();
        let mut definitions: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("d{n}"), json!({"anyOf": others}))).collect();
        let circle = json!({"$defs": definitions.clone()});
        assert!(takes(&circle, &reference(0)) == TextMeaning::AnyText);
        assert_eq!(choices(&circle, &reference(0)), [""; 0]);

        definitions.insert("d7".to_owned(), json!({"enum": [1, 2]}));
        let numbers = json!({"$defs": definitions});
        assert!(takes(&numbers, &reference(0)) == TextMeaning::Json);
        assert_eq!(choices(&numbers, &reference(0)), ["1", "2"]);
    }
}
