//! The tools of one principal, for display.

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

/// A tool, with what is known about its calls in advance.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolView<'a> {
    /// The definition as it is published.
    pub definition: Cow<'a, Definition>,
    /// The worst case of its effect, and where each hint comes from.
    pub worst: EffectiveHints,
    /// Whether the arguments change the effect.
    pub dynamic: bool,
    /// The effect by argument, one line for each row, if the tool has an effect table.
    pub effects: Vec<String>,
    /// The policy's verdict on the worst case.
    pub verdict: Verdict,
    /// The tool that undoes a call.
    pub undo: Option<&'a str>,
    /// A less harmful tool to prefer.
    pub instead: Option<&'a str>,
    /// The tool that shows what a call would do.
    pub preview: Option<&'a str>,
    /// Whether a call needs the token of a preview.
    pub requires_preview: bool,
    /// How the server recognizes a retry.
    pub idempotency: crate::tool::Idempotency,
    /// The rate limit per caller.
    pub rate: Option<String>,
    /// The unusable schemas of its types. For operators.
    pub schema_problems: &'a [SchemaProblem],
}

impl Engine {
    /// Returns the tools of a principal; none if the server offers none. Queries a provider on every call.
    pub async fn catalogue(&self, principal: &Principal) -> Result<Catalogue, ProviderError> {
        let tools = match &self.parts().tools {
            Some(source) => source.get(principal).await?,
            None => Arc::default(),
        };
        Ok(Catalogue { engine: self.clone(), tools })
    }
}

impl Catalogue {
    /// Returns the tools in their order, as they are published.
    #[must_use]
    pub fn list(&self) -> Vec<Cow<'_, Definition>> {
        let parts = self.engine.parts();
        self.tools.published(Era::Modern, parts.form, &parts.policy)
    }

    /// Returns the underlying set. It is the same one until the tools change.
    #[must_use]
    pub fn tools(&self) -> &Arc<ToolSet> {
        &self.tools
    }

    /// Returns the tool or split tool with this name.
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
                Effects::Table(table) if found.is_dynamic() => table.summary(),
                _ => Vec::new(),
            },
            verdict: parts.policy.verdict(entry, worst.hints),
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
