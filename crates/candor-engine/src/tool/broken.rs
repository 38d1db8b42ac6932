//! The replacement for a tool that cannot be used: it is listed, and all its calls are refused.

use candor_protocol::json::raw;
use candor_protocol::types::Tool as Definition;
use candor_schema::{Invalid, Violation};

use super::arguments::Arguments;
use super::{Effects, Prepared, Tool, entry, warning};

/// A tool that refuses every call with the reason.
pub(super) struct Broken {
    definition: Definition,
    violation: Violation,
}

impl Broken {
    /// Returns the replacement for a tool with this problem. The log reports the problem once.
    pub(super) fn instead_of(tool: &dyn Tool, problem: &str) -> Self {
        let given = tool.definition();
        warning::once(&given.name, &format!("{problem}; its calls are refused"));
        // The author's schema is not published: a client that cannot read it would lose the other tools of the list.
        let mut definition = Definition::new(&given.name, raw(&candor_schema::permissive()));
        definition.title.clone_from(&given.title);
        definition.description.clone_from(&given.description);
        let violation = if entry::has_usable_schemas(given) {
            Violation::new("", format!("this tool cannot be called: {problem}"))
        } else {
            let message = format!("Invalid schema: {problem}; this tool cannot be called");
            Violation::of_schema(message)
        };
        Self { definition, violation }
    }
}

impl Tool for Broken {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn prepare(&self, _: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        Err(self.violation.clone().into())
    }

    /// Returns [`Effects::Unclassified`], because no call can run.
    fn effects(&self) -> Effects {
        Effects::Unclassified
    }
}
