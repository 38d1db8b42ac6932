//! `tools/call`: the pipeline. The stages are in the order in which they run. `run` runs a call that passed the gate.

mod gate;
mod run;
mod says;
mod shape;

use std::borrow::Cow;
use std::sync::Arc;

use candor_hints::Hints;
use candor_ledger::Key;
use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::CallToolParams;

use super::asking;
use super::reading::{self, DecodedCall, PreparedCall};
use super::{params, provider_failed};
use crate::ctx::Ctx;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::gate::expectation;
use crate::ledger::operation::RecordedCall;
use crate::ledger::{Call, key, words};
use crate::mirror;
use crate::round::{CarriedState, RequestBinding};
use gate::{CallFacts, ClearedCall};
use run::CallStart;
use says::CallEncoder;
use shape::ResultShaper;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    // decode
    let Some(source) = &engine.parts().tools else {
        return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
    };
    // Decode arguments first: they borrow from the request buffer, and later stages would have to copy them.
    let sent = reading::decode(asked.get("arguments").filter(|sent| !sent.is_null()))?;
    let call: CallToolParams = params(asked.without("arguments"))?;
    let brought = asking::brought(
        call.input_responses.as_deref(),
        call.request_state.as_deref(),
        &call.extra,
    )?;
    let ledger = engine.ledger();
    let beside = reading::key_beside(engine, exchange, &call.extra)?;
    let expects_approval = expectation::read(&exchange.meta)?;

    // look up
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let found =
        tools.find(&call.name, engine.parts().form).ok_or_else(|| reading::unknown(&call.name))?;
    let entry = found.entry;
    if let Some(position) = &exchange.position {
        position.narrow(entry.safeguards.serial.as_deref());
    }
    let says = CallEncoder {
        engine,
        exchange,
        entry,
        name: &call.name,
        foreseen: None,
        carried: CarriedState::default(),
    };

    // validate
    if let Some(headers) = &exchange.mirrored {
        mirror::check(&entry.mirrors, headers, &sent)?;
    }
    let taken = match DecodedCall::from(&found, sent, beside, exchange) {
        Ok(taken) => taken,
        Err(unfit) => return Ok(says.refused(unfit.into_tool_error(&call.name))),
    };
    if taken.lacks_key() {
        return Ok(says.refused(key::required(entry)));
    }
    let mut ready = match taken.ready() {
        Ok(ready) => ready,
        Err(unfit) => return Ok(says.refused(unfit.into_tool_error(&call.name))),
    };
    if ledger.is_none() && ready.key.is_some() {
        return Ok(says.refused(words::nobody_remembers(entry.name())));
    }

    // evaluate
    // An evaluator that fails cannot make a call look safe.
    let by_nature =
        ready.foresee().await.map_or(Hints::WORST, |evaluated| evaluated.effective.hints);
    if by_nature.is_read_only() {
        exchange.release_position();
    }
    let prepared = match ready.prepared() {
        Ok(prepared) => prepared,
        Err(unfit) => return Ok(says.refused(unfit.into_tool_error(&call.name))),
    };
    let PreparedCall { arguments, key, token, .. } = ready;
    let says = says.having_foreseen(by_nature, key.is_some());
    let about =
        Call { entry, arguments: &arguments, hints: by_nature, has_key: key.is_some(), exchange };
    let binding = RequestBinding {
        method: method::TOOLS_CALL,
        name: &call.name,
        arguments: Cow::Borrowed(arguments.as_value()),
        key: key.as_ref().map(Key::as_str),
    };
    let signer = found.previews.map(|tool| {
        engine.plans().signer(tool, &exchange.principal, &arguments, engine.limits().plan)
    });
    let shaping = ResultShaper { entry: Arc::clone(entry), era: exchange.era(), signer };

    let operation =
        ledger.zip(key.clone()).map(|(ledger, key)| RecordedCall::new(ledger, &about, key));

    // recall
    let round = asking::begin(engine, exchange, &binding, &brought)?;
    let resumes = round.resumes;
    let mut carried = round.carried;
    carried.expects_approval |= expects_approval;
    let says = CallEncoder { carried, ..says };
    if resumes.is_none()
        && let Some(operation) = &operation
        && let Some(told) = Box::pin(operation.recall(exchange)).await
    {
        Box::pin(operation.note(&told)).await;
        return says.told(told, &binding);
    }

    // gate
    let preview = found.preview.map(|preview| &**preview);
    let coming = CallFacts {
        call: &about,
        operation,
        resumes,
        preview,
        token: token.as_deref(),
        expects_approval: carried.expects_approval,
    };
    let gated = match coming.judged(engine).await {
        Ok(gated) => gated,
        Err(told) => return says.told(told, &binding),
    };
    let ctx = match gated.is_kept() {
        false => Ctx::new(engine, exchange, round),
        true => Ctx::recorded(engine, exchange, round, key.clone()),
    };
    let ClearedCall { admitted, grant, kept } =
        match gated.enter(engine, &ctx, brought.state.is_some()).await {
            Ok(entered) => entered,
            Err(told) => {
                ctx.end().await;
                return says.told(told, &binding);
            }
        };

    // run
    let start = CallStart { call: &about, says: &says, binding: &binding, prepared, shaping };
    match kept {
        None => start.at_once(&ctx, admitted, grant.as_deref()).await,
        Some(kept) => Box::pin(start.kept(ctx, admitted, kept)).await,
    }
}
