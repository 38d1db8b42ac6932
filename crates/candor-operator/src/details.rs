//! What the reviewer sees of an approval request, in the form that the ledger stores.

use std::collections::HashMap;

use candor_hints::{DeclaredHints, Effect, EffectiveHints, HINT_NAMES};
use candor_protocol::Undo;
use candor_protocol::json::{Object, RawValue};
use serde_json::Value;

use crate::effect::{UNCLASSIFIED, effect_name};

/// What the reviewer sees of an approval request. A server writes it, and operators read it.
#[derive(Debug, Clone)]
pub struct RequestDetails {
    /// The tool's name.
    pub tool: String,
    /// The tool's title, in the author's words.
    pub title: Option<String>,
    /// The names of the arguments that are or contain secrets. Their values in `arguments` are redacted.
    pub secrets: Vec<String>,
    /// The arguments as JSON, digit for digit.
    pub arguments: Box<RawValue>,
    /// The call's effect, in words. A request of an earlier version has the words of that version.
    pub summary: String,
    /// The call's effect. `None`: the request does not tell. A request of an earlier version has only the protocol's hints, which
    /// do not tell changes from deletions.
    pub effect: Option<EffectiveHints>,
    /// The tool's description, in the author's words.
    pub description: Option<String>,
    /// The client's name, as the client reports it.
    pub client: Option<String>,
    /// The text of the tool's preview.
    pub preview: Option<String>,
    /// Whether the call can be undone, and with which tool. `None`: unknown.
    pub undo: Option<Undo>,
    /// The shown digits of the operation's ID.
    pub operation: String,
}

impl RequestDetails {
    /// Returns true unless the call's hints rule out that it changes or deletes existing data.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        self.effect.is_none_or(|effect| effect.hints.is_destructive())
    }

    /// Returns true if the call is known to change nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.effect.is_some_and(|effect| effect.hints.is_read_only())
    }

    /// Returns the details as the ledger stores them: a JSON object. [`RequestDetails::read`] reads it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            tool,
            title,
            secrets,
            arguments,
            summary,
            effect,
            description,
            client,
            preview,
            undo,
            operation,
        } = self;
        let object = Object::new()
            .with("tool", tool)
            .with("title", title)
            .with("secrets", secrets)
            .with("arguments", arguments)
            .with("effect", summary)
            .with("effectName", &effect.map(effect_name))
            .with("annotations", &effect.map(annotations))
            .with("description", description)
            .with("client", client)
            .with("preview", preview)
            .with("undo", &undo.as_ref().map(Undo::to_value))
            .with("operation", operation);
        serde_json::to_vec(&object).expect("the members are JSON already")
    }

    /// Reads stored details. Unknown members are ignored. Returns `None` if the arguments or the words for the effect are missing:
    /// no reviewer can approve such a request.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut members: HashMap<String, Box<RawValue>> = serde_json::from_slice(bytes).ok()?;
        let arguments = members.remove("arguments")?;
        let value = |name: &str| -> Option<Value> {
            members.get(name).and_then(|value| serde_json::from_str(value.get()).ok())
        };
        let text = |name: &str| value(name).and_then(|value| value.as_str().map(str::to_owned));
        let texts = |name: &str| -> Vec<String> {
            value(name).and_then(|names| serde_json::from_value(names).ok()).unwrap_or_default()
        };
        let name = text("effectName");
        Some(Self {
            tool: text("tool").unwrap_or_default(),
            title: text("title"),
            secrets: texts("secrets"),
            arguments,
            summary: text("effect")?,
            effect: read_effect(name.as_deref(), value("annotations").as_ref()),
            description: text("description"),
            client: text("client"),
            preview: text("preview"),
            undo: value("undo").as_ref().and_then(Undo::read),
            operation: text("operation").unwrap_or_default(),
        })
    }
}

/// Returns exactly the four hints.
fn annotations(effect: EffectiveHints) -> Object {
    let DeclaredHints { read_only, destructive, idempotent, open_world, .. } =
        effect.hints.declared();
    let hints = HINT_NAMES.into_iter().zip([read_only, destructive, idempotent, open_world]);
    hints.fold(Object::new(), |object, (name, hint)| object.with(name, &hint))
}

/// Returns the effect by its name and the four hints. The name makes hints exact, and never makes a call safer than its hints.
fn read_effect(name: Option<&str>, annotations: Option<&Value>) -> Option<EffectiveHints> {
    if name == Some(UNCLASSIFIED) {
        return Some(DeclaredHints::default().effective());
    }
    let annotations = annotations?.as_object()?;
    let [read_only, destructive, idempotent, open_world] =
        HINT_NAMES.map(|name| annotations.get(name).and_then(Value::as_bool));
    let effect = name.and_then(Effect::from_word);
    Some(DeclaredHints { read_only, destructive, idempotent, open_world, effect }.effective())
}

#[cfg(test)]
mod tests {
    use candor_hints::Hints;
    use serde_json::json;

    use super::*;

    fn details(effect: EffectiveHints) -> RequestDetails {
        let number = "{\"amount\":12345678901234567890123.10}";
        RequestDetails {
            tool: "pay".to_owned(),
            title: Some("Payments".to_owned()),
            secrets: vec!["token".to_owned()],
            arguments: RawValue::from_string(number.to_owned()).unwrap(),
            summary: effect.summary(),
            effect: Some(effect),
            description: None,
            client: Some("claude 9.9".to_owned()),
            preview: None,
            undo: Some(Undo::With("refund".to_owned())),
            operation: "0123abcd".to_owned(),
        }
    }

    #[test]
    fn stored_details_are_read_as_they_were_written() {
        let effects = Effect::ALL.map(|effect| Hints::from_effect(effect).idempotent());
        let effects = effects.map(|hints| hints.closed_world().declared().effective());
        for effect in effects.into_iter().chain([DeclaredHints::default().effective()]) {
            let written = details(effect);
            let read = RequestDetails::read(&written.to_bytes()).unwrap();
            assert_eq!(read.arguments.get(), written.arguments.get());
            let read_effect = read.effect.unwrap();
            assert_eq!(read_effect.hints, effect.hints);
            assert_eq!(read_effect.is_unclassified(), effect.is_unclassified());
            assert_eq!(read.to_bytes(), written.to_bytes());
        }
    }

    #[test]
    fn stored_form_has_the_members_that_programs_read() {
        let effect = Hints::DELETES.closed_world().declared().effective();
        let stored: Value = serde_json::from_slice(&details(effect).to_bytes()).unwrap();
        let members: Vec<_> = stored.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            members,
            [
                "tool",
                "title",
                "secrets",
                "arguments",
                "effect",
                "effectName",
                "annotations",
                "description",
                "client",
                "preview",
                "undo",
                "operation"
            ]
        );
        assert_eq!(stored["effect"], "Deletes · not safe to retry · local");
        assert_eq!(stored["effectName"], "deletes");
        assert_eq!(
            stored["annotations"],
            json!({
                "readOnlyHint": false,
                "destructiveHint": true,
                "idempotentHint": false,
                "openWorldHint": false,
            })
        );
        assert_eq!(stored["undo"], json!({"possible": true, "tool": "refund"}));
    }

    #[test]
    fn request_of_an_earlier_version_has_the_effect_of_its_hints() {
        let stored = |effect: &str, annotations: Value| {
            let stored = json!({"arguments": {}, "effect": effect, "annotations": annotations});
            RequestDetails::read(&serde_json::to_vec(&stored).unwrap()).unwrap()
        };
        let deletes = json!({"readOnlyHint": false, "destructiveHint": true});
        let read = stored("DELETES · not repeatable · stays local", deletes);
        assert_eq!(read.effect.unwrap().hints.effect(), Effect::ChangesOrDeletes);
        assert!(read.is_destructive() && !read.is_read_only());
        let adds = json!({"readOnlyHint": false, "destructiveHint": false});
        // The words do not matter.
        let read = stored("Deletes · safe to retry · local", adds);
        assert_eq!(read.effect.unwrap().hints.effect(), Effect::Adds);
        assert!(!read.is_destructive() && !read.is_read_only());
        let read = stored("Reads · safe to retry · local", Value::Null);
        assert!(read.effect.is_none() && read.is_destructive() && !read.is_read_only());
    }

    #[test]
    fn effect_name_never_makes_a_call_safer_than_its_hints() {
        let hints = json!({"readOnlyHint": false, "destructiveHint": true});
        let effect = |name: &str| read_effect(Some(name), Some(&hints)).unwrap().hints.effect();
        assert_eq!(effect("deletes"), Effect::Deletes);
        assert_eq!(effect("reads"), Effect::ChangesOrDeletes);
        assert_eq!(effect("burns"), Effect::ChangesOrDeletes);
        assert_eq!(read_effect(Some("reads"), None), None);
        assert_eq!(read_effect(Some("reads"), Some(&json!("no hints"))), None);
    }

    #[test]
    fn malformed_request_is_not_read() {
        for bytes in ["", "[]", "{}", r#"{"arguments":{}}"#, r#"{"effect":"Reads"}"#, "{\"effect\""]
        {
            assert!(RequestDetails::read(bytes.as_bytes()).is_none(), "{bytes}");
        }
        let odd = r#"{"arguments":7,"effect":"?","title":1,"secrets":"x","undo":3,"later":[1]}"#;
        let read = RequestDetails::read(odd.as_bytes()).unwrap();
        assert_eq!((read.arguments.get(), read.title, read.undo), ("7", None, None));
        assert_eq!((read.secrets.len(), read.client), (0, None));
    }
}
