//! A tool that cannot be used, in the place of the one that was given: it is listed, and no call of it fits.

use candor_protocol::json::raw;
use candor_protocol::types::Tool as Definition;
use candor_schema::{Invalid, Violation};

use super::{Effects, Prepared, Tool, entry, warning};
use crate::arguments::Arguments;

/// Says of every call why it cannot be made.
pub(super) struct Broken {
    definition: Definition,
    violation: Violation,
}

impl Broken {
    /// What stands in the place of a tool with this problem. The log says so, once.
    pub(super) fn instead_of(tool: &dyn Tool, problem: &str) -> Self {
        let given = tool.definition();
        warning::once(&given.name, &format!("{problem}; its calls are refused"));
        // What a client cannot read would cost it the other tools of the list, so the author's schema is not published.
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

    /// Nothing is known of calls that cannot be made.
    fn effects(&self) -> Effects {
        Effects::Unclassified
    }
}
