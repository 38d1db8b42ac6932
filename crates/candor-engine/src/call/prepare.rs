//! Prepares a call: from the arguments as sent to the code that would run, and the effect of the call.
//!
//! A call and an explanation of it use these functions, so both accept the same calls and evaluate the same effect.

use candor_ledger::Key;

use super::{Call, key, plan};
use crate::caller::Caller;
use crate::error::Refusal;
use crate::tool::{
    Arguments, Evaluated, EvaluatorFailed, Idempotency, Prepared, RegisteredTool, ResolvedTool,
};

/// A call that cannot run as sent, with the reason.
pub(super) struct InvalidCall {
    pub(super) refusal: Refusal,
    /// The arguments, if the server could read them.
    pub(super) arguments: Option<Arguments>,
}

impl InvalidCall {
    fn new(refusal: Refusal, arguments: Option<Arguments>) -> Box<Self> {
        Box::new(Self { refusal, arguments })
    }
}

/// A decoded call, not validated yet. The arguments that the framework adds to a tool (key, plan token) are taken out.
pub(super) struct DecodedCall<'t> {
    entry: &'t RegisteredTool,
    pub(super) arguments: Arguments,
    pub(super) key: Option<Key>,
    /// The plan token that the caller sent.
    pub(super) token: Option<String>,
}

impl<'t> DecodedCall<'t> {
    pub(super) fn new(
        found: &ResolvedTool<'t>,
        call: &Call,
        has_ledger: bool,
    ) -> Result<Self, Box<InvalidCall>> {
        let entry: &RegisteredTool = found.entry;
        let mut arguments = found.complete(call.arguments.clone()).map_err(|invalid| {
            let tool = call.tool.clone();
            InvalidCall::new(Refusal::InvalidArguments { tool, invalid }, None)
        })?;
        // A server without a ledger ignores a key beside the arguments.
        let beside = call.key.clone().filter(|_| has_ledger);
        let key = match key::take(entry, &mut arguments, beside) {
            Ok(key) => key,
            Err(refusal) => return Err(InvalidCall::new(refusal, Some(arguments))),
        };
        let token = match plan::take(entry, &mut arguments, call.plan.clone()) {
            Ok(token) => token,
            Err(refusal) => return Err(InvalidCall::new(refusal, Some(arguments))),
        };
        Ok(Self { entry, arguments, key, token })
    }

    /// Returns true if the tool requires a key and the call has none.
    pub(super) fn lacks_key(&self) -> bool {
        self.key.is_none() && self.entry.idempotency == Idempotency::Required
    }

    /// Validates and prepares the call. `name` is the name that the caller used, which may be that of a part.
    pub(super) fn prepare(self, name: &str) -> Result<PreparedCall<'t>, Box<InvalidCall>> {
        let Self { entry, arguments, key, token } = self;
        let prepared = validate(entry, name, &arguments)?;
        match derived(entry, &*prepared).and_then(|derived| key::agreed(derived, key)) {
            Ok(key) => Ok(PreparedCall { entry, arguments, key, token, prepared: Some(prepared) }),
            Err(refusal) => Err(InvalidCall::new(refusal, Some(arguments))),
        }
    }
}

/// A valid call that is ready to run.
pub(super) struct PreparedCall<'t> {
    entry: &'t RegisteredTool,
    pub(super) arguments: Arguments,
    /// The caller's key, or one that the tool's author derives from the arguments.
    pub(super) key: Option<Key>,
    pub(super) token: Option<String>,
    /// `None` if an evaluator took it and did not return it.
    prepared: Option<Box<dyn Prepared>>,
}

impl PreparedCall<'_> {
    /// Evaluates the call's effect, without regard to its key.
    pub(super) async fn evaluate(&mut self, caller: &Caller) -> Result<Evaluated, EvaluatorFailed> {
        let Some(prepared) = self.prepared.take() else { return Err(EvaluatorFailed) };
        let (prepared, evaluated) = self.entry.effects.of(&self.arguments, prepared, caller).await;
        self.prepared = prepared;
        evaluated
    }

    /// Returns the prepared call to run: the evaluated one, or a new one if the evaluator did not return it.
    pub(super) fn take(&mut self, name: &str) -> Result<Box<dyn Prepared>, Box<InvalidCall>> {
        self.prepared.take().map_or_else(|| validate(self.entry, name, &self.arguments), Ok)
    }
}

fn validate(
    entry: &RegisteredTool,
    name: &str,
    arguments: &Arguments,
) -> Result<Box<dyn Prepared>, Box<InvalidCall>> {
    entry.input.check(arguments).and_then(|()| entry.tool.prepare(arguments.clone())).map_err(
        |invalid| {
            let tool = name.to_owned();
            InvalidCall::new(Refusal::InvalidArguments { tool, invalid }, Some(arguments.clone()))
        },
    )
}

/// Returns the key that the tool's author derives from the arguments, if the tool derives keys.
fn derived(entry: &RegisteredTool, prepared: &dyn Prepared) -> Result<Option<Key>, Refusal> {
    if entry.idempotency != Idempotency::Derived {
        return Ok(None);
    }
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| prepared.key()));
    let made = made.ok().flatten().ok_or("its key could not be made".to_owned());
    made.and_then(|text| Key::new(text).map_err(|bad| bad.to_string()))
        .map(Some)
        .map_err(Refusal::KeyUnderivable)
}
