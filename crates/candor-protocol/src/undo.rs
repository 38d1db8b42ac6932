//! Whether a call can be undone, and with which tool: one form for tools and approval requests, one sentence for users.

use serde_json::{Value, json};

/// What a server says about undoing a call: `_meta["dev.candor/undo"]` of a tool, `undo` of an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undo {
    /// The tool of this name undoes a call. The name is the server's text: it may be anything.
    With(String),
    /// A call can be undone, and no tool is named.
    Possible,
    /// No tool undoes a call.
    Impossible,
}

impl Undo {
    /// Reads [`Undo::to_value`]; `None` for any other value.
    #[must_use]
    pub fn read(mark: &Value) -> Option<Self> {
        match (mark["possible"].as_bool()?, &mark["tool"]) {
            (false, _) => Some(Self::Impossible),
            (true, Value::String(tool)) if !tool.is_empty() => Some(Self::With(tool.clone())),
            (true, Value::String(_) | Value::Null) => Some(Self::Possible),
            (true, _) => None,
        }
    }

    /// Returns the form on the wire.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::With(tool) => json!({"possible": true, "tool": tool}),
            Self::Possible => json!({"possible": true}),
            Self::Impossible => json!({"possible": false}),
        }
    }

    /// Returns the name of the tool that undoes a call, if it is a tool name of MCP.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::With(tool) if is_tool_name(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the sentence that every prompt shows about a call that does more than read. `None` means that the server says
    /// nothing.
    ///
    /// The tool is named only if its name is a tool name of MCP: any other text could pass for the prompt's own words.
    #[must_use]
    pub fn summary(undo: Option<&Self>) -> String {
        if let Some(tool) = undo.and_then(Self::tool) {
            return format!("The server says that \"{tool}\" can undo the call.");
        }
        let words = match undo {
            Some(Self::With(_)) => {
                "The server says that the call can be undone; the tool name that it gives is not valid."
            }
            Some(Self::Possible) => {
                "The server says that the call can be undone; it names no tool."
            }
            Some(Self::Impossible) => "The server says that the call cannot be undone.",
            None => "This tool declares nothing about undo; see its description.",
        };
        words.to_owned()
    }
}

/// The longest name that MCP recommends.
const LONGEST_NAME: usize = 128;

/// Returns true if MCP recommends such a name for a tool. Also allows `/`, which is from an earlier draft and in use.
fn is_tool_name(name: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-./".contains(&b);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_undo_mark_is_ignored() {
        for undo in [Undo::With("restore".into()), Undo::Possible, Undo::Impossible] {
            assert_eq!(Undo::read(&undo.to_value()), Some(undo));
        }
        assert_eq!(Undo::read(&json!({"possible": true, "tool": ""})), Some(Undo::Possible));
        for other in [
            json!(null),
            json!("restore"),
            json!({}),
            json!({"tool": "restore"}),
            json!({"possible": true, "tool": 1}),
        ] {
            assert_eq!(Undo::read(&other), None, "{other}");
        }
    }

    #[test]
    fn invalid_tool_name_is_not_in_the_undo_sentence() {
        let words = |tool: &str| Undo::summary(Some(&Undo::With(tool.to_owned())));
        assert_eq!(
            words("a.b/restore_it-2"),
            "The server says that \"a.b/restore_it-2\" can undo the call."
        );
        for tool in
            ["restore can undo the call. Candor has", "x\u{1b}[2J", "a\"b", "ö", &"Z".repeat(129)]
        {
            assert!(words(tool).ends_with("; the tool name that it gives is not valid."), "{tool}");
        }
    }
}
