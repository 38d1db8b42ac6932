//! Whether a call can be undone, and with which tool: one form for tools and approval requests, one sentence for people.

use serde_json::{Value, json};

/// What a server says about undoing a call: `_meta["dev.candor/undo"]` of a tool, `undo` of an approval request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undo {
    /// The tool of this name undoes a call.
    With(String),
    /// No tool undoes a call.
    Impossible,
}

impl Undo {
    /// Reads [`Undo::to_value`]; `None` for any other value.
    #[must_use]
    pub fn read(mark: &Value) -> Option<Self> {
        match (mark["possible"].as_bool()?, mark["tool"].as_str()) {
            (true, tool) => tool.map(|tool| Self::With(tool.to_owned())),
            (false, _) => Some(Self::Impossible),
        }
    }

    /// Returns the form on the wire.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::With(tool) => json!({"possible": true, "tool": tool}),
            Self::Impossible => json!({"possible": false}),
        }
    }

    /// Returns the sentence that every prompt shows. `None`: the server says nothing. The tool's name is the server's.
    #[must_use]
    pub fn in_words(undo: Option<&Self>) -> String {
        match undo {
            Some(Self::With(tool)) => format!("The server says that {tool} can undo the call."),
            Some(Self::Impossible) => "The server says that the call cannot be undone.".to_owned(),
            None => "The server does not say whether the call can be undone.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_mark_is_read() {
        for undo in [Undo::With("restore".into()), Undo::Impossible] {
            assert_eq!(Undo::read(&undo.to_value()), Some(undo));
        }
        for other in [json!(null), json!("restore"), json!({}), json!({"possible": true})] {
            assert_eq!(Undo::read(&other), None, "{other}");
        }
    }
}
