//! The parts of a running engine, which every request shares.

use std::sync::Arc;

use candor_hints::Hints;
use tokio_util::sync::CancellationToken;

use crate::capacity::rate::RateLimiter;
use crate::capacity::serial::SerialGroups;
use crate::capacity::{Capacity, Limits};
use crate::completion::Completions;
use crate::ctx::request::SharedContext;
use crate::elicitations::PendingElicitations;
use crate::plans::Plans;
use crate::policy::ServerPolicy;
use crate::prompt::PromptSet;
use crate::provider::Source;
use crate::record::ServerLedger;
use crate::record::parked::ParkedCalls;
use crate::resource::Tree;
use crate::seal::{Seal, Secret};
use crate::tool::{ListingOptions, RegisteredTool, ToolSet};

/// The parts of a running engine.
pub(crate) struct Parts {
    /// The server's name, and the data that it serves.
    pub(crate) name: String,
    pub(crate) instance: String,
    pub(crate) secret: Secret,
    pub(crate) tools: Option<Source<ToolSet>>,
    pub(crate) prompts: Option<Source<PromptSet>>,
    pub(crate) resources: Tree,
    pub(crate) completions: Completions,
    pub(crate) limits: Limits,
    pub(crate) listing: ListingOptions,
    /// Whether the effect of a call can depend on its arguments, for any tool.
    pub(crate) has_dynamic_effects: bool,
    pub(crate) policy: ServerPolicy,
    pub(crate) ledger: Option<ServerLedger>,
    pub(crate) plans: Plans,
    pub(crate) rates: RateLimiter,
    pub(crate) serial: SerialGroups,
    /// Seals the state between the rounds of a request.
    pub(crate) rounds: Seal,
    pub(crate) elicitations: PendingElicitations,
    pub(crate) parked: ParkedCalls,
    pub(crate) capacity: Arc<Capacity>,
    /// What the contexts of all handlers share.
    pub(crate) shared: Arc<SharedContext>,
    pub(crate) stop: CancellationToken,
}

impl Parts {
    /// Returns a seal of this server. Other servers may share its secret, but must not accept its tokens.
    pub(crate) fn seal(&self, purpose: &str) -> Seal {
        seal(&self.secret, purpose, &self.name, &self.instance)
    }

    /// Returns the verdict that lists show.
    pub(crate) fn listed_verdict(
        &self,
    ) -> impl Fn(&RegisteredTool, Hints) -> candor_hints::Verdict {
        |entry, hints| self.policy.listed(entry, hints)
    }

    /// Returns true if any prompt, completion or provider may propose values.
    pub(crate) fn completes(&self) -> bool {
        let by_prompts = match &self.prompts {
            None => false,
            Some(Source::Fixed(prompts)) => prompts.proposes(),
            // Known only when a caller asks.
            Some(Source::Provided(_)) => true,
        };
        by_prompts || !self.completions.is_empty() || self.resources.offers().completion
    }
}

pub(crate) fn seal(secret: &Secret, purpose: &str, name: &str, instance: &str) -> Seal {
    secret.seal(&serde_json::json!([purpose, name, instance]).to_string())
}
