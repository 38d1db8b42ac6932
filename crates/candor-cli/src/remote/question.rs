//! A server's questions to the user, asked at the terminal, field by field.

use std::io;
use std::sync::Arc;

use candor_client::{ElicitReply, Elicitation};
use candor_schema::Schema;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::safe;
use crate::arguments::typed;
use crate::shape::{Kinds, Shape};
use crate::terminal::{Terminal, read_approval};
use crate::width::cut;

/// The user at the terminal. They are asked one thing at a time.
pub(super) struct TerminalUser(pub(super) Mutex<Terminal>);

/// The answer that declines a whole form.
const NO: &str = "!no";

/// The maximum width of a title or of a value in one line, in columns.
const LETTERS: usize = 120;

/// Names of fields whose answers are secrets.
const SECRETS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "api key",
    "api_key",
    "apikey",
];

/// The maximum number of fields in a form. A user cannot be expected to fill in more.
const FIELDS: usize = 50;

impl TerminalUser {
    /// Returns the user; `None` if there is no terminal to ask at.
    pub(super) fn here() -> Option<Arc<Self>> {
        Terminal::open().map(|terminal| Arc::new(Self(Mutex::new(terminal))))
    }
}

/// Returns the user's reply to a server's question. `from`: the server that asks, safe to show.
pub(super) async fn answer(person: &TerminalUser, from: &str, asked: &Elicitation) -> ElicitReply {
    let mut terminal = person.0.lock().await;
    // If the question could not be asked, the user has not answered it.
    ask(&mut terminal, from, asked).await.unwrap_or(ElicitReply::Cancel)
}

async fn ask(terminal: &mut Terminal, from: &str, asked: &Elicitation) -> io::Result<ElicitReply> {
    eprintln!("\n{from} asks:\n{}", safe::excerpt(&asked.message, safe::WHOLE));
    if let Some(url) = &asked.url {
        eprintln!(
            "It asks you to visit this page, which Candor does not open:\n{}",
            safe::quoted(url)
        );
        let agreed = terminal.agrees("Do you?").await?;
        return Ok(if agreed { ElicitReply::Accept(Map::new()) } else { ElicitReply::Decline });
    }
    let empty = Map::new();
    let fields = asked.schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    if fields.len() > FIELDS {
        eprintln!("It has {} fields, which is too many: declined.", fields.len());
        return Ok(ElicitReply::Decline);
    }
    if fields.is_empty() {
        let agreed = terminal.agrees("Do you agree?").await?;
        return Ok(if agreed { ElicitReply::Accept(Map::new()) } else { ElicitReply::Decline });
    }
    let required = asked.schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    eprintln!("({NO} declines; Ctrl-D leaves it unanswered)");
    let mut form = Map::new();
    for (name, schema) in fields {
        let field = Field { name, schema, root: &asked.schema, required: is_required(name) };
        match field.ask(terminal).await? {
            TypedAnswer::Value(value) => {
                form.insert(name.clone(), value);
            }
            TypedAnswer::Nothing => {}
            TypedAnswer::No => return Ok(ElicitReply::Decline),
            TypedAnswer::Gone => return Ok(ElicitReply::Cancel),
        }
    }
    Ok(ElicitReply::Accept(form))
}

/// One field of a form.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    root: &'a Value,
    required: bool,
}

enum TypedAnswer {
    Value(Value),
    /// Left out, or left at its default.
    Nothing,
    No,
    Gone,
}

impl Field<'_> {
    async fn ask(&self, terminal: &mut Terminal) -> io::Result<TypedAnswer> {
        let text = |name: &str| self.schema.get(name).and_then(Value::as_str);
        if let Some(description) = text("description") {
            eprintln!("{}", safe::excerpt(description, safe::PREVIEW));
        }
        self.tell_titles();
        let default = self.schema.get("default");
        let without = match default {
            Some(_) if self.is_secret() => " [default]".to_owned(),
            Some(value) => format!(" [{}]", cut(&plain(value), LETTERS)),
            None if self.required => String::new(),
            None => " [leave out]".to_owned(),
        };
        let title = cut(text("title").unwrap_or(self.name), LETTERS);
        // Title, choices and default are the server's, so they are marked like all its words.
        let question = format!("{title} ({}){without}:", cut(&self.placeholder(), 2 * LETTERS));
        let question = safe::marked(&question);
        let secret = self.is_secret();
        if secret {
            eprintln!(
                "This looks like a secret. What you type is not shown here, but the server reads it. Decline with {NO} unless you trust it."
            );
        }
        loop {
            let line = match secret {
                true => terminal.ask_hidden(&question).await?,
                false => terminal.ask(&question).await?,
            };
            let Some(line) = line else { return Ok(TypedAnswer::Gone) };
            let line = line.trim_end_matches(['\n', '\r']);
            match line.trim() {
                NO => return Ok(TypedAnswer::No),
                "" if default.is_some() || !self.required => return Ok(TypedAnswer::Nothing),
                "" => eprintln!("this field is required"),
                _ => match self.read(line) {
                    Ok(value) => return Ok(TypedAnswer::Value(value)),
                    // What was typed is part of the problem's words.
                    Err(_) if secret => eprintln!("the field does not accept this"),
                    // Its choices are the server's words, too.
                    Err(problem) => eprintln!("{}", safe::marked(&cut(&problem, 2 * LETTERS))),
                },
            }
        }
    }

    /// Shows the titles of choices that have titles besides their values.
    fn tell_titles(&self) {
        let items = self.schema.get("items").unwrap_or(self.schema);
        let titled = ["oneOf", "anyOf"].iter().find_map(|name| items.get(name)?.as_array());
        for choice in titled.into_iter().flatten() {
            if let (Some(value), Some(title)) =
                (choice.get("const"), choice.get("title").and_then(Value::as_str))
            {
                let line = format!("{}: {}", cut(&plain(value), LETTERS), cut(title, LETTERS));
                eprintln!("{}", safe::marked(&line));
            }
        }
    }

    /// Returns true if the answer must not be visible on the screen: the schema says so, or the field has the name of a secret.
    ///
    /// MCP's forms have no format for passwords, so servers that ask for one mostly give no more than a name.
    fn is_secret(&self) -> bool {
        let is = |name: &str| self.schema.get(name) == Some(&Value::Bool(true));
        let title = self.schema.get("title").and_then(Value::as_str).unwrap_or_default();
        let named = format!("{} {title}", self.name).to_lowercase();
        let is_text = Shape::within(self.root, self.schema).kinds().has(Kinds::STRING);
        self.schema.get("format").and_then(Value::as_str) == Some("password")
            || is("writeOnly")
            || is("x-secret")
            || (is_text
                && self.schema.get("enum").is_none()
                && SECRETS.iter().any(|word| named.contains(word)))
    }

    fn placeholder(&self) -> String {
        typed::placeholder(&Shape::within(self.root, self.schema))
    }

    fn read(&self, line: &str) -> Result<Value, String> {
        // An approval takes the words that every other prompt takes.
        if self.schema.get("enum").is_some_and(|choices| *choices == json!(["approve", "deny"]))
            && let Some(approved) = read_approval(line)
        {
            return Ok(if approved { "approve".into() } else { "deny".into() });
        }
        let shape = Shape::within(self.root, self.schema);
        let problem = |(what, right): (String, String)| format!("{what}; {right}");
        let is_list = shape.kinds() == Kinds::ARRAY;
        let value = match is_list && !line.trim_start().starts_with('[') {
            // Users write lists with commas.
            true => {
                let item = shape.item();
                let items = line.split(',').map(|part| typed::value(&item, part.trim()));
                items.collect::<Result<Vec<_>, _>>().map(Value::Array).map_err(problem)?
            }
            false => typed::value(&shape, line).map_err(problem)?,
        };
        // A schema that cannot be compiled checks nothing.
        match Schema::compile(&self.schema.to_string()) {
            Ok(schema) => schema.check(&value).map(|()| value).map_err(|e| e.to_string()),
            Err(_) => Ok(value),
        }
    }
}

/// Returns a string without its quotes, and anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(schema: &Value, line: &str) -> Result<Value, String> {
        let field = Field { name: "f", schema, root: schema, required: true };
        field.read(line)
    }

    #[test]
    fn answer_is_parsed_by_the_type_of_its_field() {
        assert_eq!(
            read(&json!({"type": "string", "enum": ["approve", "deny"]}), "deny"),
            Ok(json!("deny"))
        );
        let approval = json!({"type": "string", "enum": ["approve", "deny"]});
        for (line, meant) in [("y", "approve"), (" Yes", "approve"), ("N", "deny"), ("no", "deny")]
        {
            assert_eq!(read(&approval, line), Ok(json!(meant)), "{line}");
        }
        assert_eq!(read(&json!({"type": "string"}), "y"), Ok(json!("y")));
        assert_eq!(read(&json!({"type": "integer", "minimum": 1}), "3"), Ok(json!(3)));
        assert_eq!(read(&json!({"type": "boolean"}), "true"), Ok(json!(true)));
        assert_eq!(read(&json!({"type": "string"}), "3"), Ok(json!("3")));
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
        assert_eq!(read(&several, "a, b"), Ok(json!(["a", "b"])));
        assert_eq!(read(&several, r#"["b"]"#), Ok(json!(["b"])));
    }

    #[test]
    fn answer_that_violates_its_field_is_refused() {
        let problem = read(&json!({"type": "string", "enum": ["approve", "deny"]}), "aprove");
        assert!(problem.unwrap_err().contains("did you mean approve?"));
        assert!(read(&json!({"type": "integer", "minimum": 1}), "0").is_err());
        assert!(read(&json!({"type": "string", "minLength": 3}), "ab").is_err());
        assert!(read(&json!({"type": "array", "items": {"enum": ["a"]}}), "a, c").is_err());
    }
}
