//! The tools of one principal, for whoever shows them to people.

use std::borrow::Cow;
use std::sync::Arc;

use candor_hints::{EffectiveHints, Verdict};
use candor_protocol::types::Tool as Definition;
use candor_protocol::{Era, Principal};

use crate::engine::Engine;
use crate::provider::ProviderError;
use crate::tool::{Effects, SchemaProblem, ToolSet};

/// The tools of one principal, as modern clients see them.
#[derive(Debug, Clone)]
pub struct Catalogue {
    engine: Engine,
    tools: Arc<ToolSet>,
}

/// A tool with what is known of it before a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolView<'a> {
    /// As it is published.
    pub definition: Cow<'a, Definition>,
    /// What any call may do, and where that is known from.
    pub worst: EffectiveHints,
    /// Whether the arguments make a difference to it.
    pub dynamic: bool,
    /// Which arguments make which difference, a line each, where that is a table.
    pub effects: Vec<String>,
    /// What becomes of its worst call.
    pub judgement: Verdict,
    /// The tool that takes a call back.
    pub undo: Option<&'a str>,
    /// The tool that does less harm.
    pub instead: Option<&'a str>,
    /// The tool that shows what a call would do.
    pub preview: Option<&'a str>,
    /// Whether a call needs the token of that.
    pub requires_preview: bool,
    /// How calls are recognised that come again.
    pub idempotency: crate::tool::Idempotency,
    /// How often one caller may call it.
    pub rate: Option<String>,
    /// The schemas of its types that cannot be used. For operators.
    pub schema_problems: &'a [SchemaProblem],
}

impl Engine {
    /// The tools of a principal; none if the server has none. A provider is asked each time.
    pub async fn catalogue(&self, principal: &Principal) -> Result<Catalogue, ProviderError> {
        let tools = match &self.parts().tools {
            Some(source) => source.get(principal).await?,
            None => Arc::default(),
        };
        Ok(Catalogue { engine: self.clone(), tools })
    }
}

impl Catalogue {
    /// The tools in their order, as they are published.
    #[must_use]
    pub fn list(&self) -> Vec<Cow<'_, Definition>> {
        let parts = self.engine.parts();
        self.tools.published(Era::Modern, parts.form, &parts.policy)
    }

    /// The set behind it: the same one as long as nothing has changed.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolSet> {
        &self.tools
    }

    /// The tool, or the part of one, that has this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ToolView<'_>> {
        let parts = self.engine.parts();
        let found = self.tools.find(name, parts.form)?;
        let entry = found.entry;
        let definition = found.published(Era::Modern, parts.form, &parts.policy);
        let worst = found.worst();
        let safeguards = &entry.safeguards;
        Some(ToolView {
            dynamic: found.is_dynamic(),
            effects: match &entry.effects {
                Effects::Table(table) if found.is_dynamic() => table.in_words(),
                _ => Vec::new(),
            },
            judgement: parts.policy.judge(entry, worst.hints),
            undo: safeguards.undo.as_deref(),
            instead: safeguards.instead.as_deref(),
            preview: entry.preview_name.as_deref(),
            requires_preview: safeguards.requires_preview,
            idempotency: entry.idempotency,
            rate: safeguards.rate.map(|rate| rate.to_string()),
            schema_problems: &entry.schema_problems,
            definition,
            worst,
        })
    }
}
