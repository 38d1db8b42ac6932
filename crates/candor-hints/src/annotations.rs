//! The annotations of a call: its hints, and further fields.

use serde_json::{Map, Value};

use crate::hints::Hints;

/// The names of the four hints in annotations.
pub const HINT_NAMES: [&str; 4] =
    ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// The annotations of a call: four hints, and any other fields.
///
/// The hints are bounded by the worst case of the tool. Other fields have no order of risk, so they are passed on as they are, and
/// no decision depends on them.
///
/// ```
/// use candor_hints::{Annotations, Hints};
///
/// let offline: Annotations = Hints::READS.with("networkAccessHint", false);
/// assert_eq!(offline.hints(), Hints::READS);
/// assert_eq!(offline.fields()["networkAccessHint"], false);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Annotations {
    hints: Hints,
    fields: Map<String, Value>,
}

impl Annotations {
    /// Adds a field, or replaces it: `title`, or any other beside the four hints. The name of a hint is refused when the server
    /// registers the table or evaluates the call.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// Marks the call as local: it touches no systems outside the server.
    #[must_use]
    pub fn closed_world(mut self) -> Self {
        self.hints = self.hints.closed_world();
        self
    }

    /// Returns the hints.
    #[must_use]
    pub const fn hints(&self) -> Hints {
        self.hints
    }

    /// Returns the fields beside the hints.
    #[must_use]
    pub const fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns what is wrong with the fields, if anything.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if let Some(name) = self.fields.keys().find(|name| HINT_NAMES.contains(&name.as_str())) {
            return Some(format!(
                "the field `{name}` is one of the four hints: set it with `Hints`"
            ));
        }
        let title = self.fields.get("title").filter(|title| !title.is_string());
        title.map(|title| format!("the field `title` is {title}, but it must be a string"))
    }
}

impl From<Hints> for Annotations {
    fn from(hints: Hints) -> Self {
        Self { hints, fields: Map::new() }
    }
}

impl Hints {
    /// Returns annotations with these hints and a further field.
    #[must_use]
    pub fn with(self, name: impl Into<String>, value: impl Into<Value>) -> Annotations {
        Annotations::from(self).with(name, value)
    }
}
