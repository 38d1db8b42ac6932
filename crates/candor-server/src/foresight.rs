//! What a call would do and what would become of it, for a person who is still writing it.
//!
//! The pipeline of `tools/call`, cut off before anything happens: nothing is run, nobody is asked, nothing is written down.

use candor_hints::{Effective, Hints};
use candor_ledger::{Answer, Moment, StateKind};
use candor_protocol::json::RawValue;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_schema::Violation;

use crate::admission::plan;
use crate::arguments::Arguments;
use crate::engine::Engine;
use crate::gate::approval::granted;
use crate::ledger::once::Operation;
use crate::ledger::{Call, key};
use crate::methods::{provider_failed, tools_call};
use crate::tool::{Idempotency, PLAN_ARGUMENT, ToolError};
use crate::visit::Visit;
use candor_hints::Judgement;

/// What a call would do, and what would become of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Foresight {
    /// What is wrong with its arguments; nothing, if it could be made.
    pub invalid: Vec<Violation>,
    /// What it may do. For arguments that are wrong or not all there, what is still possible.
    pub effective: Effective,
    /// Whether that is about these very arguments.
    pub exact: bool,
    /// Whether it may start.
    pub judgement: Judgement,
    /// What is on record of a call like this, if anything is.
    pub standing: Option<Standing>,
}

/// What is on record of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Standing {
    /// It has ended: a repetition gets the first result.
    Replay {
        /// When.
        completed: Moment,
    },
    /// It runs, or waits for an answer to a question of its own.
    Running {
        /// Since when, if that is known.
        since: Option<Moment>,
    },
    /// A person is asked.
    Waiting {
        /// The first digits of its id.
        operation: String,
    },
    /// A person has said yes, and it has not been made since.
    Approved {
        /// Who.
        by: String,
    },
    /// A person has said no.
    Denied {
        /// Who.
        by: String,
        /// Why, if they said so.
        reason: Option<String>,
    },
    /// It was started, and nobody knows what came of it.
    Unknown,
    /// The key stands for other arguments.
    Reused,
    /// The key cannot be used any more.
    Closed,
    /// It cannot be found out just now.
    Unavailable,
}

impl Visit {
    /// What a call would do. The key is the visit's own, or stands among the arguments.
    pub async fn foresee(
        &self,
        name: &str,
        arguments: &RawValue,
    ) -> Result<Foresight, ErrorObject> {
        let (engine, exchange) = (self.engine(), &self.exchange()?);
        let Some(source) = &engine.parts().tools else {
            return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
        };
        engine.rates().admit_question(engine.limits().foresights, &exchange.principal)?;
        let arguments = Arguments::decode(Some(arguments))
            .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))?;
        let tools =
            source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
        let found =
            tools.find(name, engine.parts().form).ok_or_else(|| tools_call::unknown(name))?;
        let entry = found.entry;
        let judge = |effective: Effective| engine.parts().policy.judge(entry, effective.hints);
        let unfit = |arguments: Option<&Arguments>, invalid: Vec<Violation>| {
            let nature =
                arguments.map_or_else(|| entry.effects.worst(), |a| entry.effects.of_partial(a));
            let judgement = judge(nature);
            let effective = entry.of_keyed(nature, false);
            Ok(Foresight { invalid, effective, exact: false, judgement, standing: None })
        };
        let arguments = match found.complete(arguments) {
            Ok(arguments) => arguments,
            Err(invalid) => return unfit(None, invalid.violations),
        };
        let beside = match engine.ledger() {
            Some(_) => key::beside(exchange, &candor_protocol::json::Object::new())?,
            None => None,
        };
        let wrong = |error: &ToolError| match error.fields() {
            [] => vec![Violation::new("", error.to_string())],
            fields => fields.to_vec(),
        };
        let key::Brought { arguments, key } = match key::take(entry, arguments.clone(), beside) {
            Ok(brought) => brought,
            Err(error) => return unfit(Some(&arguments), wrong(&error)),
        };
        let plan::Brought { arguments, token } =
            match plan::take(entry, arguments.clone(), exchange) {
                Ok(brought) => brought,
                Err(error) => return unfit(Some(&arguments), wrong(&error)),
            };
        let prepared = match tools_call::validate(entry, &arguments) {
            Ok(prepared) => prepared,
            Err(invalid) => return unfit(Some(&arguments), invalid.violations),
        };
        let key = match tools_call::derived(entry, &*prepared)
            .and_then(|derived| key::agreed(derived, key))
        {
            Ok(key) => key,
            Err(error) => return unfit(Some(&arguments), wrong(&error)),
        };
        let (_, effective) = entry.effects.of(&arguments, prepared).await;
        let nature = effective.unwrap_or_else(|_| Effective::resolved(Hints::WORST));
        let mut judgement = judge(nature);
        let call = Call { entry, arguments: &arguments, hints: nature.hints, exchange };
        let mut operation = engine.ledger().and_then(|ledger| match &key {
            Some(key) => Some(Operation::new(ledger, &call, key.clone())),
            // Recorded because a person is asked about it.
            None => (judgement == Judgement::Ask).then(|| Operation::keyless(ledger, &call)),
        });
        if let (Judgement::Ask, Some(kept)) = (judgement, &operation)
            && let Ok(Some(_)) = granted(&engine.parts().policy, &call, kept).await
        {
            // As the call itself: nobody is asked, and without a key there is nothing to find.
            judgement = Judgement::Allow;
            operation = operation.filter(|kept| !kept.is_keyless());
        }
        let standing = match &operation {
            Some(operation) => standing(operation).await,
            None => None,
        };
        let effective = entry.of_keyed(nature, key.is_some());
        let mut invalid = Vec::new();
        if key.is_none() && entry.idempotency == Idempotency::Required {
            invalid = wrong(&key::required(entry));
        }
        let plan =
            engine.plans().check(&call, found.preview.map(|preview| &**preview), token.as_deref());
        if let Err(error) = plan {
            invalid.push(Violation::new(format!("/{PLAN_ARGUMENT}"), error.to_string()));
        }
        Ok(Foresight { invalid, effective, exact: true, judgement, standing })
    }
}

async fn standing(operation: &Operation) -> Option<Standing> {
    let answer = match operation.look().await {
        Ok(answer) => answer?,
        Err(error) => {
            tracing::warn!(%error, "the ledger could not be looked at");
            return Some(Standing::Unavailable);
        }
    };
    Some(match answer {
        // The next call of a name that the server has given is another one.
        Answer::Replay { .. } | Answer::OutcomeUnknown { .. } | Answer::Expired { .. }
            if operation.is_keyless() =>
        {
            return None;
        }
        Answer::Replay { completed, .. } => Standing::Replay { completed },
        Answer::InFlight { since, state, .. } => {
            Standing::Running { since: (state == StateKind::Dispatched).then_some(since) }
        }
        Answer::Suspended { .. } => Standing::Running { since: None },
        Answer::Waiting { .. } => Standing::Waiting { operation: operation.short_id() },
        Answer::Approved { by, .. } => Standing::Approved { by },
        Answer::Denied { by, reason, .. } => Standing::Denied { by, reason },
        Answer::OutcomeUnknown { .. } => Standing::Unknown,
        Answer::KeyReused => Standing::Reused,
        Answer::Expired { .. } | Answer::Abandoned { .. } => Standing::Closed,
        _ => return None,
    })
}

impl Engine {
    /// Which calls a person is asked about, unless a tool or a rule says otherwise; see [`Visit::foresee`] for a single call.
    #[must_use]
    pub fn asks(&self) -> candor_hints::Ask {
        self.parts().policy.ask
    }
}
