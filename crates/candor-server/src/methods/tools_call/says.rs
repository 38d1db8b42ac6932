//! encode: what is said to the client of a call.

use candor_hints::{Effective, Hints};
use candor_protocol::Era;
use candor_protocol::json::{Decode, Json, Object, RawValue};
use candor_protocol::names::extension;
use candor_protocol::types::CallToolResult;
use serde_json::{Value, json};

use super::shape::panicked;
use crate::answer::Answer;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::ledger::once::Ended;
use crate::ledger::operation::Told;
use crate::ledger::words;
use crate::methods::asking;
use crate::resource::Publisher;
use crate::round::Binding;
use crate::tool::{Entry, ToolError, effects};

/// Who speaks, of what, and to whom.
pub(super) struct Says<'a> {
    pub(super) engine: &'a Engine,
    pub(super) exchange: &'a Exchange,
    pub(super) entry: &'a Entry,
    pub(super) name: &'a str,
    /// What the call does, if that was worth finding out.
    pub(super) foreseen: Option<Hints>,
}

impl<'a> Says<'a> {
    pub(super) fn having_foreseen(self, by_nature: Hints, has_key: bool) -> Self {
        let hints = self.entry.of_keyed(Effective::resolved(by_nature), has_key).hints;
        Self { foreseen: self.entry.is_dynamic().then_some(hints), ..self }
    }

    /// Arguments that do not fit are the model's to mend, so a result, not an error (SEP-1303).
    pub(super) fn refused(&self, error: ToolError) -> Answer {
        self.result(error.by_server().into_result(self.name), None)
    }

    pub(super) fn ended(&self, ended: Ended) -> Answered {
        match ended {
            Ended::Result { result, .. } => Ok(self.result(result, None)),
            Ended::Unasked(error) => Err(error),
            Ended::Panicked | Ended::Asks(_) => Ok(self.refused(panicked())),
        }
    }

    pub(super) fn told(&self, told: Told, binding: &Binding<'_>) -> Answered {
        let (engine, exchange) = (self.engine, self.exchange);
        match told {
            Told::Result { result, mark, replayed } => {
                let answer = self.result(result, Some(&mark));
                Ok(if replayed { answer.replayed() } else { answer })
            }
            Told::Asks { questions, resumes } if exchange.era() == Era::Modern => {
                if let Err(unable) = questions.answerable_by(&exchange.client)
                    && let Some(error) = unable.protocol_error(Era::Modern)
                {
                    return Err(error);
                }
                Ok(asking::ask(engine, exchange, binding, questions, Some(resumes)))
            }
            Told::Asks { .. } => Ok(self.refused(words::waits_elsewhere())),
            Told::Refused(error) => Ok(self.refused(error)),
            Told::Failed(error) => Err(error),
        }
    }

    /// A result, which may be an old one, as this client can take it.
    fn result(&self, mut result: CallToolResult, mark: Option<&Value>) -> Answer {
        let (engine, exchange) = (self.engine, self.exchange);
        let era = exchange.era();
        if era == Era::Modern && engine.parts().form.native_output && self.entry.boxed {
            result.structured_content = result.structured_content.and_then(|raw| unboxed(&raw));
        }
        // Up to 2025-11-25 structured content is an object or absent; the text says the same.
        if era == Era::Legacy
            && result.structured_content.as_ref().is_some_and(|raw| !raw.get().starts_with('{'))
        {
            result.structured_content = None;
        }
        Publisher::to(&exchange.client).blocks(&mut result.content);
        if let Some(hints) = self.foreseen {
            let said = json!({"foreseen": effects::annotations(hints)});
            let meta = result.meta.take().unwrap_or_default();
            result.meta = Some(meta.with(extension::DYNAMIC_ANNOTATIONS, &said));
        }
        if let Some(mark) = mark {
            let meta = result.meta.take().unwrap_or_default();
            result.meta = Some(meta.with(extension::IDEMPOTENCY, mark));
        }
        engine.complete(exchange, result)
    }
}

/// The value in a box.
fn unboxed(raw: &RawValue) -> Option<Box<RawValue>> {
    let boxed = Object::decode(raw.into()).ok()?;
    boxed.get(candor_schema::BOX_FIELD).map(Json::to_raw)
}
