//! `tools/call`: the pipeline. The stages stand in the order in which they happen.

use std::borrow::Cow;
use std::sync::Arc;

use candor_hints::{Effective, Hints};
use candor_ledger::{Grant, Key, OutcomeKind};
use candor_protocol::Era;
use candor_protocol::json::{Decode, Json, Object, RawValue};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolParams, CallToolResult};
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::asking;
use super::reading::{self, Ready, Taken};
use super::{params, provider_failed};
use crate::admission::plan::{Planned, Signer};
use crate::admission::rate::{Coming, Pass};
use crate::admission::serial::Turn;
use crate::answer::Answer;
use crate::attempt::{Ran, Subject, attempt, attempt_in_time};
use crate::ctx::Ctx;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::gate::approval::{Approval, Approved, granted};
use crate::ledger::key;
use crate::ledger::once::{Ended, Operation, Told};
use crate::ledger::{Call, Ledger, Noted, Watched, words};
use crate::mirror;
use crate::resource::Publisher;
use crate::round::{Binding, Resumes, Round};
use crate::tool::{Entry, Output, Prepared, ToolError, code, effects};
use candor_hints::Judgement;

/// What the log says of it in the line with the number that the caller gets.
const PANICKED: &str = "it panicked, as the line before says";

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    // decode
    let Some(source) = &engine.parts().tools else {
        return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
    };
    let call: CallToolParams = params(asked)?;
    let sent = reading::decode(call.arguments.as_deref())?;
    let brought = asking::brought(
        call.input_responses.as_deref(),
        call.request_state.as_deref(),
        &call.extra,
    )?;
    let (ledger, policy) = (engine.ledger(), &engine.parts().policy);
    let beside = reading::key_beside(engine, exchange, &call.extra)?;

    // look up
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let found =
        tools.find(&call.name, engine.parts().form).ok_or_else(|| reading::unknown(&call.name))?;
    let entry = found.entry;
    let says = Says { engine, exchange, entry, name: &call.name, foreseen: None };

    // validate
    if let Some(headers) = &exchange.mirrored {
        mirror::check(&entry.mirrors, headers, &sent)?;
    }
    let taken = match Taken::from(&found, sent, beside, exchange) {
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

    // foresee
    // An evaluator that fails cannot make a call look safe.
    let by_nature = ready.foresee().await.map_or(Hints::WORST, |effective| effective.hints);
    let prepared = match ready.prepared() {
        Ok(prepared) => prepared,
        Err(unfit) => return Ok(says.refused(unfit.into_tool_error(&call.name))),
    };
    let Ready { arguments, key, token, .. } = ready;
    let says = says.having_foreseen(by_nature, key.is_some());
    let about = Call { entry, arguments: &arguments, hints: by_nature, exchange };
    let binding = Binding {
        method: method::TOOLS_CALL,
        name: &call.name,
        arguments: Cow::Borrowed(arguments.as_value()),
        key: key.as_ref().map(Key::as_str),
    };
    let signer = found.previews.map(|tool| {
        engine.plans().signer(tool, &exchange.principal, &arguments, engine.limits().plan)
    });
    let shaping = Shaping { entry: Arc::clone(entry), era: exchange.era(), signer };

    let operation =
        ledger.zip(key.clone()).map(|(ledger, key)| Operation::new(ledger, &about, key));

    // recall
    let round = Round::begin(engine.rounds(), &exchange.principal, &binding, &brought)?;
    let resumes = round.resumes;
    if resumes.is_none()
        && let Some(operation) = &operation
        && let Some(told) = operation.recall().await
    {
        operation.note(&told).await;
        return says.told(told, &binding);
    }

    // gate
    let preview = found.preview.map(|preview| &**preview);
    let coming = AtGate { call: &about, operation, resumes, preview, token: token.as_deref() };
    let Gated { operation, asks, grant, planned } = match coming.pass(engine).await {
        Ok(gated) => gated,
        Err(told) => return says.told(told, &binding),
    };
    let Some(operation) = operation else {
        let ctx = Ctx::new(engine, exchange, round);
        let coming = Coming { key: None, goes_on: brought.state.is_some() };
        let admitted = match admit(engine, &planned, &about, coming, &ctx).await {
            Ok(admitted) => admitted,
            Err(error) => {
                let told = Told::Refused(error);
                note_refusal(ledger, &about, None, &told).await;
                return says.told(told, &binding);
            }
        };
        // run, shape, record: nothing to remember but that it was called
        let watched = ledger.map(|ledger| ledger.watch(&about));
        let subject = Subject { method: method::TOOLS_CALL, name: &call.name };
        let ran = attempt_in_time(&ctx, subject, |ctx| prepared.run(ctx)).await;
        ctx.end().await;
        let duration = watched.map(Watched::ended);
        let ended = match ran {
            Ran::Asks(questions) => {
                admitted.asks();
                return Ok(asking::ask(engine, exchange, &binding, questions));
            }
            ran => shaping.shape(ran),
        };
        drop(admitted);
        if let Some(ledger) = ledger {
            let (event, outcome) = ("called", ended.kind());
            let permitted = grant.as_ref().map(words::permitted);
            ledger.note(&about, Noted { event, outcome, duration, permitted }).await;
        }
        return says.ended(ended);
    };
    let ctx = Ctx::recorded(engine, exchange, round, key.clone());
    let mut approved = Approved { binding: None, planned };
    if asks {
        let prompts = engine.prompts();
        let asking =
            Approval { policy, prompts, call: &about, operation: &operation, preview, planned };
        approved = match asking.get(engine, &ctx).await {
            Ok(approved) => approved,
            Err(told) => {
                ctx.end().await;
                return says.told(told, &binding);
            }
        };
    }
    let Approved { binding: approval, planned } = approved;

    // Counted only now: who comes back while a person thinks about it has not called again.
    let goes_on = matches!(resumes, Some(Resumes::Round { .. }));
    let coming = Coming { key: Some(operation.key()), goes_on };
    let Admitted { pass, turn } = match admit(engine, &planned, &about, coming, &ctx).await {
        Ok(admitted) => admitted,
        Err(error) => {
            let told = Told::Refused(error);
            operation.note(&told).await;
            ctx.end().await;
            return says.told(told, &binding);
        }
    };

    // claim, run, shape, record: in a task of their own, so that a caller who hangs up stops nothing half way
    let work = work(ctx.clone(), shaping, call.name.clone(), prepared, turn).boxed();
    let told = operation.carry_out(&ctx, approval, resumes, work).await;
    if let (Told::Result { replayed: true, .. }, Some(pass)) = (&told, &pass) {
        pass.give_back();
    }
    says.told(told, &binding)
}

/// A call before the gate.
struct AtGate<'c, 'p> {
    call: &'c Call<'c>,
    /// Its record, if it has a key.
    operation: Option<Operation>,
    resumes: Option<Resumes>,
    preview: Option<&'p Entry>,
    /// Of the preview that the caller has looked at.
    token: Option<&'c str>,
}

/// What stands before its start, as far as policy and permissions go.
struct Gated<'p> {
    /// The record that it has, or gets because a person is asked.
    operation: Option<Operation>,
    /// Whether a person must be asked.
    asks: bool,
    /// What a person has permitted already.
    grant: Option<Grant>,
    planned: Planned<'p>,
}

impl<'p> AtGate<'_, 'p> {
    async fn pass(self, engine: &Engine) -> Result<Gated<'p>, Told> {
        let Self { call, mut operation, resumes, preview, token } = self;
        let (ledger, policy, name) = (engine.ledger(), &engine.parts().policy, call.entry.name());
        let asks = match policy.judge(call.entry, call.hints) {
            Judgement::Allow => false,
            Judgement::Deny => {
                let told = Told::Refused(words::not_allowed(name));
                note_refusal(ledger, call, operation.as_ref(), &told).await;
                return Err(told);
            }
            // Whoever goes on with a call was asked when it began.
            Judgement::Ask => !matches!(resumes, Some(Resumes::Round { .. })),
        };
        // Nobody is asked about what the caller has not looked at.
        let planned = match engine.plans().check(call, preview, token) {
            Ok(planned) => planned,
            Err(error) => {
                let told = Told::Refused(error);
                note_refusal(ledger, call, operation.as_ref(), &told).await;
                return Err(told);
            }
        };
        // Who goes on with a call that a person was asked about goes on with its record: what was approved once runs once.
        if operation.is_none() && (asks || resumes.is_some()) {
            // Nobody who could be asked means no.
            let Some(ledger) = ledger else {
                return Err(Told::Refused(words::nobody_to_ask(name)));
            };
            operation = Some(Operation::keyless(ledger, call));
        }
        let grant = match &operation {
            Some(kept) if asks => granted(policy, call, kept).await.map_err(Told::Refused)?,
            _ => None,
        };
        if let Some(grant) = &grant {
            // What is permitted for a while is not asked about, and needs no record to be asked about once.
            operation =
                operation.filter(|kept| !kept.is_keyless()).map(|kept| kept.permitted(grant));
        }
        Ok(Gated { operation, asks: asks && grant.is_none(), grant, planned })
    }
}

/// A call that may start: counted, and alone in its group until this is dropped.
struct Admitted {
    pass: Option<Pass>,
    turn: Option<Turn>,
}

impl Admitted {
    /// It has not run to its end, and comes back with answers.
    fn asks(&self) {
        if let Some(pass) = &self.pass {
            pass.asks();
        }
    }
}

/// The last of the gate: rate, turn, and the world as the plan has seen it, which is looked at when nobody of the same group
/// can change it any more.
async fn admit(
    engine: &Engine,
    planned: &Planned<'_>,
    call: &Call<'_>,
    coming: Coming<'_>,
    ctx: &Ctx,
) -> Result<Admitted, ToolError> {
    let pass = engine.rates().admit(call, coming)?;
    let turn = engine.queues().turn(call, ctx.deadline()).await?;
    planned.still_holds(engine, call).await?;
    Ok(Admitted { pass, turn })
}

/// Somebody wanted what was not done.
async fn note_refusal(
    ledger: Option<&Ledger>,
    call: &Call<'_>,
    operation: Option<&Operation>,
    told: &Told,
) {
    match (operation, ledger) {
        (Some(operation), _) => operation.note(told).await,
        (None, Some(ledger)) => {
            ledger.note(call, Noted::refused()).await;
        }
        (None, None) => {}
    }
}

/// The handler of a call that has a key, to its end.
async fn work(
    ctx: Ctx,
    shaping: Shaping,
    name: String,
    prepared: Box<dyn Prepared>,
    turn: Option<Turn>,
) -> Ended {
    let subject = Subject { method: method::TOOLS_CALL, name: &name };
    let ended = match attempt(&ctx, subject, |ctx| prepared.run(ctx)).await {
        Ran::Asks(questions) => Ended::Asks(questions),
        // It has no deadline: what has begun is not given up half way.
        Ran::Panicked => Ended::Panicked,
        ran => shaping.shape(ran),
    };
    drop(turn);
    ended
}

/// encode: what is said to the client of this request.
struct Says<'a> {
    engine: &'a Engine,
    exchange: &'a Exchange,
    entry: &'a Entry,
    name: &'a str,
    /// What the call does, if that was worth finding out.
    foreseen: Option<Hints>,
}

impl<'a> Says<'a> {
    fn having_foreseen(self, by_nature: Hints, has_key: bool) -> Self {
        let hints = self.entry.of_keyed(Effective::resolved(by_nature), has_key).hints;
        Self { foreseen: self.entry.is_dynamic().then_some(hints), ..self }
    }

    /// Arguments that do not fit are the model's to mend, so a result, not an error (SEP-1303).
    fn refused(&self, error: ToolError) -> Answer {
        self.result(error.by_server().into_result(self.name), None)
    }

    fn ended(&self, ended: Ended) -> Answered {
        match ended {
            Ended::Result { result, .. } => Ok(self.result(result, None)),
            Ended::Unasked(error) => Err(error),
            Ended::Panicked | Ended::Asks(_) => Ok(self.refused(ToolError::internal(PANICKED))),
        }
    }

    fn told(&self, told: Told, binding: &Binding<'_>) -> Answered {
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
                let (bound, ttl) = (binding.digest(&exchange.principal), engine.limits().round);
                let put = questions.put(engine.rounds(), &bound, ttl, Some(resumes));
                Ok(engine.input_required(exchange, put))
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

/// What is known of a result before it is there.
struct Shaping {
    entry: Arc<Entry>,
    era: Era,
    /// For a preview: who signs what it shows.
    signer: Option<Signer>,
}

impl Shaping {
    /// From how a handler ended to what any client may see of it, whatever its era.
    fn shape(&self, ran: Ran<Result<Output, ToolError>>) -> Ended {
        let outcome = match ran {
            Ran::Done(outcome) => outcome,
            Ran::Asks(questions) => return Ended::Asks(questions),
            Ran::Panicked => Err(ToolError::internal(PANICKED)),
            Ran::TookTooLong => {
                Err(ToolError::new(asking::TOOK_TOO_LONG).code(code::TIMED_OUT).by_server())
            }
        };
        let name = self.entry.name();
        let error = match outcome.map(|output| (broken_promise(&self.entry, &output), output)) {
            Ok((None, output)) => return self.sent(output),
            Ok((Some(violation), _)) => {
                let error =
                    ToolError::new("The tool ran, but its result does not fit its output schema.")
                        .code(code::RESULT_INVALID)
                        .log(violation);
                let result = error.into_result(name);
                return Ended::Result { result, kind: OutcomeKind::Invalid, not_started: false };
            }
            Err(error) => error,
        };
        if let Some(error) = error.protocol_error(self.era) {
            return Ended::Unasked(error);
        }
        let not_started = error.is_not_started();
        let result = error.into_result(name);
        Ended::Result { result, kind: OutcomeKind::Failure, not_started }
    }

    fn sent(&self, mut output: Output) -> Ended {
        let failed = output.is_error();
        let kind = if failed { OutcomeKind::Failure } else { OutcomeKind::Success };
        let world = output.plan.take();
        let mut result = output.into_result();
        if let Some(signer) = self.signer.as_ref().filter(|_| !failed) {
            signer.sign(&mut result, world.as_deref());
        }
        Ended::Result { result, kind, not_started: false }
    }
}

/// The value in a box.
fn unboxed(raw: &RawValue) -> Option<Box<RawValue>> {
    let boxed = Object::decode(raw.into()).ok()?;
    boxed.get(candor_schema::BOX_FIELD).map(Json::to_raw)
}

/// How deep structured content may nest: parsers of clients give up not far above it.
const DEEPEST: usize = 100;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(members) => members.values().any(deeper),
        _ => false,
    }
}

/// How a result breaks the tool's output schema, or everybody's, if it does.
fn broken_promise(entry: &Entry, output: &Output) -> Option<String> {
    if output.structured.as_ref().is_some_and(|value| is_deeper(value, DEEPEST)) {
        return Some(format!("nested deeper than {DEEPEST} levels"));
    }
    let schema = entry.output.as_ref()?;
    if output.is_error() {
        return None;
    }
    match output.checked_value() {
        None => Some("there is no structured content".to_owned()),
        Some(value) => schema.check(&value).err().map(|invalid| invalid.to_string()),
    }
}
