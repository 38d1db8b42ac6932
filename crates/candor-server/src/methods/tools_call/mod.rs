//! `tools/call`: the pipeline. The stages are in the order in which they run. `admit` decides and waits; `run` runs.

mod admit;
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
use crate::decision::expectation;
use crate::decision::facts::CallQuestion;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::ledger::{Call, key};
use crate::mirror;
use crate::round::{CarriedState, RequestBinding};
use admit::{ClearedCall, decide};
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
    let beside = reading::key_beside(engine, exchange, &call.extra)?;
    let expectation = expectation::read(&exchange.meta)?;

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

    // evaluate
    // An evaluator that fails cannot make a call look safe.
    let without_key =
        ready.evaluate().await.map_or(Hints::WORST, |evaluated| evaluated.effective.hints);
    if without_key.is_read_only() {
        exchange.release_position();
    }
    let prepared = match ready.prepared() {
        Ok(prepared) => prepared,
        Err(unfit) => return Ok(says.refused(unfit.into_tool_error(&call.name))),
    };
    let PreparedCall { arguments, key, token, .. } = ready;
    let says = says.having_foreseen(without_key, key.is_some());
    let about =
        Call { entry, arguments: &arguments, hints: without_key, has_key: key.is_some(), exchange };
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

    // gather, judge
    let round = asking::begin(engine, exchange, &binding, &brought)?;
    let mut carried = round.carried;
    carried.expects_approval |= expectation.is_some();
    let says = CallEncoder { carried, ..says };
    let expectation =
        expectation.or(carried.expects_approval.then_some(expectation::Expectation::Approval));
    let question = CallQuestion {
        call: &about,
        key: key.as_ref(),
        lacks_key: false,
        preview: found.preview.map(|preview| &**preview),
        token: token.as_deref(),
        resumes: round.resumes,
    };
    let permitted = match decide(engine, question, expectation).await {
        Ok(permitted) => permitted,
        Err(outcome) => return says.told(outcome, &binding),
    };

    // admit
    let ctx = match permitted.has_record() {
        false => Ctx::new(engine, exchange, round),
        true => Ctx::recorded(engine, exchange, round, key.clone()),
    };
    let ClearedCall { ticket, grant, record } =
        match permitted.admit(engine, &ctx, brought.state.is_some()).await {
            Ok(cleared) => cleared,
            Err(outcome) => {
                ctx.end().await;
                return says.told(outcome, &binding);
            }
        };

    // run
    let start = CallStart { call: &about, says: &says, binding: &binding, prepared, shaping };
    match record {
        None => start.at_once(&ctx, ticket, grant.as_deref()).await,
        Some(record) => Box::pin(start.kept(ctx, ticket, record)).await,
    }
}
