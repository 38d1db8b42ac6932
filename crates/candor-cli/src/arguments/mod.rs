//! The arguments of a call: words on a command line, parsed by the tool's own schema.
//!
//! `k=v` is text, and the schema determines its value. `k:=JSON` is JSON, whatever the schema says. `a.b=v` is a member of a
//! member. `k=@file` and `k=@-` take the text from a file or from stdin; `k=@@x` is the text `@x`. A list is JSON, or one `k=v` for
//! each item. Alternatively, all arguments are one JSON object. All problems are reported at once, before the call is sent.

mod exact;
mod invalid;
mod source;
pub(crate) mod typed;

use std::io::Read;

use candor::protocol::json::DEFAULT_DEPTH;
use candor_schema::nearest;
use serde_json::{Map, Value};

use crate::shape::{Kinds, Shape};
use crate::signature::{Tool, named};
use invalid::ArgumentProblem;
pub(crate) use invalid::Invalid;
use source::Sources;

/// Parses `words` (`k=v`…), or `whole` (JSON, `@file` or `-`) instead of them.
pub(crate) fn read(
    words: &[String],
    whole: Option<&str>,
    tool: &Tool<'_>,
    stdin: &mut dyn Read,
) -> Result<Map<String, Value>, Invalid> {
    let mut sources = Sources::new(stdin);
    let read = match whole {
        Some(_) if !words.is_empty() => Err(vec![ArgumentProblem::new(
            "",
            "--arguments already holds all arguments",
            format!("leave out either --arguments or {}", words.join(" ")),
        )]),
        Some(whole) => object(whole, &mut sources).map_err(|problem| vec![problem]),
        None => pairs(words, &Shape::of(tool.input), &mut sources),
    };
    read.map_err(|problems| Invalid::new(problems, tool))
}

/// Parses all arguments as one JSON object. The schema converts none of its values.
fn object(whole: &str, sources: &mut Sources<'_>) -> Result<Map<String, Value>, ArgumentProblem> {
    let place = "--arguments";
    let text = match whole.strip_prefix('@') {
        Some(path) => sources
            .read(path)
            .map_err(|what| ArgumentProblem::new(place, what, "name a file with a JSON object"))?,
        None if whole == "-" => sources
            .read("-")
            .map_err(|what| ArgumentProblem::new(place, what, "send a JSON object"))?,
        None => whole.to_owned(),
    };
    let right = r#"write an object: --arguments '{"name": "value"}'"#;
    match exact::json(&text).map_err(|what| ArgumentProblem::new(place, what, right))? {
        Value::Object(members) => Ok(members),
        _ => Err(ArgumentProblem::new(place, "this is JSON, but not an object", right)),
    }
}

/// The part of a word after its name.
struct ArgumentWord<'w> {
    text: &'w str,
    /// True for `:=`.
    json: bool,
}

/// All words about one argument.
struct Argument<'a, 'w> {
    path: Vec<String>,
    shape: Shape<'a>,
    given: Vec<ArgumentWord<'w>>,
}

fn pairs(
    words: &[String],
    shape: &Shape<'_>,
    sources: &mut Sources<'_>,
) -> Result<Map<String, Value>, Vec<ArgumentProblem>> {
    let mut problems = Vec::new();
    let mut arguments: Vec<Argument<'_, '_>> = Vec::new();
    for word in words {
        let located = split(word, shape).and_then(|(key, given)| {
            locate(shape, key, "").map(|(path, shape)| Argument { path, shape, given: vec![given] })
        });
        match located {
            Err(problem) => problems.push(problem),
            Ok(argument) => match arguments.iter_mut().find(|known| known.path == argument.path) {
                Some(known) => known.given.extend(argument.given),
                None => arguments.push(argument),
            },
        }
    }
    let mut members = Map::new();
    for argument in &arguments {
        let name = argument.path.join(".");
        let is_part = |other: &Argument<'_, '_>| {
            other.path.len() > argument.path.len() && other.path.starts_with(&argument.path)
        };
        if let Some(part) = arguments.iter().find(|other| is_part(other)) {
            let what = format!("given as a whole, and in parts ({})", part.path.join("."));
            problems.push(ArgumentProblem::new(&name, what, "use one of them"));
            continue;
        }
        match value(argument, sources) {
            Ok(value) => put(&mut members, &argument.path, value),
            Err((what, right)) => problems.push(ArgumentProblem::new(&name, what, right)),
        }
    }
    // Report missing arguments only if there is no other problem: a missing one may be misspelled.
    if problems.is_empty() {
        missing(shape, &members, "", &mut problems);
    }
    if problems.is_empty() { Ok(members) } else { Err(problems) }
}

/// Splits a word into its key and its value.
fn split<'w>(
    word: &'w str,
    shape: &Shape<'_>,
) -> Result<(&'w str, ArgumentWord<'w>), ArgumentProblem> {
    let Some((key, text)) = word.split_once('=') else {
        let right = match word.starts_with('{') {
            true => "pass a whole object with --arguments".to_owned(),
            false if shape.names().contains(&word) => format!("write {word}=VALUE"),
            false => "write NAME=VALUE".to_owned(),
        };
        return Err(ArgumentProblem::new(word, "this is not an argument", right));
    };
    let (key, json) = key.strip_suffix(':').map_or((key, false), |key| (key, true));
    if key.is_empty() {
        return Err(ArgumentProblem::new(word, "there is no name before =", "write NAME=VALUE"));
    }
    if key.matches('.').count() >= DEFAULT_DEPTH {
        let what = format!("deeper than {DEFAULT_DEPTH} levels");
        return Err(ArgumentProblem::new(key, what, "no server takes more"));
    }
    Ok((key, ArgumentWord { text, json }))
}

/// Returns the path of the argument that a key names. A declared name that contains dots takes precedence over a path of several
/// names.
fn locate<'a>(
    shape: &Shape<'a>,
    key: &str,
    above: &str,
) -> Result<(Vec<String>, Shape<'a>), ArgumentProblem> {
    let names = shape.names();
    let declared = |name: &str| names.contains(&name).then(|| shape.member(name)).flatten();
    if let Some(member) = declared(key) {
        return Ok((vec![key.to_owned()], member));
    }
    let dots: Vec<_> = key.match_indices('.').map(|(at, _)| at).collect();
    let deeper = |at: usize, member: &Shape<'a>| {
        let (name, rest) = (&key[..at], &key[at + 1..]);
        let (mut path, shape) = locate(member, rest, &format!("{above}{name}."))?;
        path.insert(0, name.to_owned());
        Ok((path, shape))
    };
    for &at in dots.iter().rev() {
        if let Some(member) = declared(&key[..at]) {
            return deeper(at, &member);
        }
    }
    // The name is not declared, but may be allowed.
    let first = dots.first().copied();
    let name = &key[..first.unwrap_or(key.len())];
    match (shape.member(name), first) {
        (Some(member), Some(at)) if !name.is_empty() => deeper(at, &member),
        (Some(member), None) if !name.is_empty() => Ok((vec![name.to_owned()], member)),
        _ => Err(unknown(name, above, &names, shape)),
    }
}

fn unknown(name: &str, above: &str, names: &[&str], shape: &Shape<'_>) -> ArgumentProblem {
    let place = format!("{above}{name}");
    if !shape.kinds().has(Kinds::OBJECT) {
        let whole = above.trim_end_matches('.');
        return ArgumentProblem::new(
            &place,
            format!("{whole} is not an object"),
            format!("write {whole}=VALUE"),
        );
    }
    let right = match nearest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {}?", named(&format!("{above}{meant}"))),
        None if names.is_empty() => "leave it out: there are no parameters".to_owned(),
        None => {
            let names: Vec<_> = names.iter().map(|name| named(&format!("{above}{name}"))).collect();
            format!("the parameters are {}", names.join(", "))
        }
    };
    ArgumentProblem::new(&place, "there is no such parameter", right)
}

/// Returns the value of one argument. The error says what is wrong, and what to write instead.
fn value(
    argument: &Argument<'_, '_>,
    sources: &mut Sources<'_>,
) -> Result<Value, (String, String)> {
    let Argument { shape, given, .. } = argument;
    if let [one] = given.as_slice() {
        return single(one, shape, sources);
    }
    if !shape.kinds().has(Kinds::ARRAY) {
        let count = given.len();
        return Err((
            format!("given {count} times, but it is not a list"),
            "give it once".to_owned(),
        ));
    }
    let mut items = Vec::new();
    for one in given {
        let is_list = one.json || one.text.trim_start().starts_with('[');
        match is_list.then(|| single(one, shape, sources)).transpose()? {
            Some(Value::Array(several)) => items.extend(several),
            Some(other) => items.push(other),
            None => items.push(single(one, &shape.item(), sources)?),
        }
    }
    Ok(Value::Array(items))
}

fn single(
    given: &ArgumentWord<'_>,
    shape: &Shape<'_>,
    sources: &mut Sources<'_>,
) -> Result<Value, (String, String)> {
    let from_file = given.text.strip_prefix('@').filter(|rest| !rest.starts_with('@'));
    if let Some(path) = from_file {
        let right = || {
            format!(
                "name a file that exists and is readable. To send the text {0} itself, write @{0}",
                given.text
            )
        };
        let text = sources.read(path).map_err(|what| (what, right()))?;
        if given.json {
            return json(&text);
        }
        let kinds = shape.kinds();
        return match exact::json(&text) {
            Ok(value) if kinds == Kinds::ANY || !kinds.has(Kinds::STRING) => Ok(value),
            Err(what) if !kinds.has(Kinds::STRING) => {
                Err((what, "the file must hold JSON, because the parameter is not text".to_owned()))
            }
            _ => Ok(Value::String(text)),
        };
    }
    if given.json {
        return json(given.text);
    }
    // `@@` means a literal `@`.
    typed::value(shape, given.text.strip_prefix('@').unwrap_or(given.text))
}

fn json(text: &str) -> Result<Value, (String, String)> {
    exact::json(text).map_err(|what| (what, ":= takes JSON; write text with =".to_owned()))
}

/// Inserts a value at its path. No path leads through a value: `pairs` refuses that.
fn put(members: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => {
            members.insert(name.clone(), value);
        }
        [name, rest @ ..] => {
            let inner = members.entry(name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Adds a problem for each required member that is missing, also in nested objects that are present.
fn missing(
    shape: &Shape<'_>,
    members: &Map<String, Value>,
    above: &str,
    problems: &mut Vec<ArgumentProblem>,
) {
    for name in shape.required() {
        if !members.contains_key(name) {
            let place = format!("{above}{name}");
            let right = match shape.member(name) {
                Some(member) => {
                    format!("write {}={}", named(&place), typed::placeholder(&member))
                }
                None => format!("write {}=VALUE", named(&place)),
            };
            problems.push(ArgumentProblem::new(&place, "required, but missing", right));
        }
    }
    for (name, value) in members {
        if let (Value::Object(inner), Some(member)) = (value, shape.member(name)) {
            missing(&member, inner, &format!("{above}{name}."), problems);
        }
    }
}

#[cfg(test)]
mod tests;
