//! The effects of a tool's calls, as its author declares them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use candor_hints::{
    Annotations, DeclaredHints, Effect, EffectTable, EffectiveHints, HINT_NAMES, Hints,
};
use candor_protocol::json::{Decode as _, Object, raw};
use candor_protocol::names::extension;
use candor_protocol::types::{Tool as Definition, ToolAnnotations};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::{Prepared, warning};
use crate::caller::Caller;
use crate::trace;

/// What is known about the effects of a tool's calls before they run.
///
/// `#[tool]` makes it from its arguments. For a [`JsonTool`](super::JsonTool), the author declares it:
///
/// ```
/// use candor_server::hints::{Hints, EffectRow, EffectTable, Condition};
/// use candor_server::tool::{JsonTool, ToolError};
///
/// let table = EffectTable::new()
///     .row(EffectRow::when("/action", Condition::equals("read")).then(Hints::READS))
///     .row(EffectRow::when("/action", Condition::equals("delete")).then(Hints::DELETES))
///     .closed_world();
/// let tool = JsonTool::open("files", |_, _| async { Ok::<_, ToolError>("done") }).effects(table);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Effects {
    /// Nothing: callers must assume the worst case.
    #[default]
    Unclassified,
    /// The same for every call.
    Fixed(DeclaredHints),
    /// What a table says about the arguments.
    Table(Arc<EffectTable>),
    /// What a function of the typed arguments returns: [`Prepared::annotations`]. Never riskier than this.
    Function(Hints),
    /// What another server says about the call: [`Prepared::ask_hints`]. If its answer is riskier than `at_most`, or does not come
    /// within this time, `at_most` counts.
    Asked {
        /// The declared worst case.
        at_most: Hints,
        /// How long the other server may take.
        within: Duration,
    },
}

/// An argument whose value decides the effect of a call: an enum with `#[candor::args]` and an `#[effect(…)]` on each variant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what a call does",
    note = "put `#[candor::args]` on the enum, and `#[effect(reads)]`, `#[effect(adds)]`, `#[effect(changes)]` or `#[effect(deletes)]` on each of its variants"
)]
pub trait Variants {
    /// Returns one row for each variant, for the argument at this JSON Pointer.
    fn effects(at: &str) -> EffectTable;
}

#[diagnostic::do_not_recommend]
impl<T: Variants> Variants for Option<T> {
    fn effects(at: &str) -> EffectTable {
        T::effects(at)
    }
}

/// Maximum time of an evaluator. It should take microseconds.
const EVALUATION_TIME: Duration = Duration::from_secs(1);

/// The warning for the author of a tool that declares no effect.
const UNSAID: &str = "it does not say what its calls do, so callers expect the worst: say it (`hints`, `annotations`, \
                      `effects`), or say that it cannot be said (`unclassified`)";

/// The result of an evaluation.
pub(crate) struct Evaluated {
    /// What the call may do.
    pub(crate) effective: EffectiveHints,
    /// The fields of its annotations besides the hints.
    pub(crate) fields: Map<String, Value>,
}

impl From<EffectiveHints> for Evaluated {
    fn from(effective: EffectiveHints) -> Self {
        Self { effective, fields: Map::new() }
    }
}

impl From<Annotations> for Evaluated {
    fn from(annotations: Annotations) -> Self {
        let effective = EffectiveHints::resolved(annotations.hints());
        Self { effective, fields: annotations.fields().clone() }
    }
}

/// The error of an evaluator that panicked, did not end, or returned an effect that its own declaration rules out.
#[derive(Debug)]
pub(crate) struct EvaluatorFailed;

impl Effects {
    /// Returns the effects that a tool's annotations declare for every call.
    #[must_use]
    pub fn of_annotations(definition: &Definition) -> Self {
        let annotations = definition.annotations.as_ref();
        annotations.map_or(Self::Unclassified, |said| {
            Self::Fixed(declared_hints(said, definition.meta.as_ref()))
        })
    }

    /// Returns true if the effect depends on the arguments.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        matches!(self, Self::Table(_) | Self::Function(_) | Self::Asked { .. })
    }

    /// Returns true if the author declared an effect, and not only hints: then all four hints are published, and the effect.
    pub(crate) const fn has_effect(&self) -> bool {
        match self {
            Self::Unclassified => false,
            Self::Fixed(declared) => declared.effect.is_some(),
            Self::Table(_) | Self::Function(_) | Self::Asked { .. } => true,
        }
    }

    /// Returns true if the author declared anything about the calls.
    pub(crate) fn declares(&self) -> bool {
        match self {
            Self::Unclassified => false,
            Self::Fixed(declared) => *declared != DeclaredHints::default(),
            Self::Table(_) | Self::Function(_) | Self::Asked { .. } => true,
        }
    }

    /// Returns the worst case of all calls.
    #[must_use]
    pub fn worst(&self) -> EffectiveHints {
        match self {
            Self::Unclassified => DeclaredHints::default().effective(),
            Self::Fixed(declared) => declared.effective(),
            Self::Table(table) => table.worst().declared().effective(),
            Self::Function(at_most) | Self::Asked { at_most, .. } => at_most.declared().effective(),
        }
    }

    /// Evaluates a call. The arguments match the schema, and `prepared` was made from them. Returns `prepared` too, unless an
    /// evaluator took it and did not end.
    pub(crate) async fn of(
        &self,
        arguments: &Value,
        prepared: Box<dyn Prepared>,
        caller: &Caller,
    ) -> (Option<Box<dyn Prepared>>, Result<Evaluated, EvaluatorFailed>) {
        match self {
            Self::Unclassified | Self::Fixed(_) => (Some(prepared), Ok(self.worst().into())),
            Self::Table(table) => (Some(prepared), Ok(table.annotations_of(arguments).into())),
            Self::Function(at_most) => {
                // On another thread, because a function that does not end cannot be stopped.
                let evaluation = tokio::task::spawn_blocking(move || {
                    let said = catch_unwind(AssertUnwindSafe(|| prepared.annotations()));
                    (prepared, said)
                });
                match tokio::time::timeout(EVALUATION_TIME, evaluation).await {
                    Ok(Ok((prepared, said))) => {
                        let said = said.unwrap_or_else(|panic| {
                            let reason = trace::panic_reason(&*panic);
                            trace::note(format_args!(
                                "the evaluator of effects panicked: {reason}"
                            ));
                            None
                        });
                        (Some(prepared), believed(said, *at_most))
                    }
                    _ => {
                        tracing::error!("an evaluator of effects does not end");
                        (None, Err(EvaluatorFailed))
                    }
                }
            }
            Self::Asked { at_most, within } => {
                let answer = asked(&*prepared, *at_most, *within, caller).await;
                (Some(prepared), Ok(answer.into()))
            }
        }
    }

    /// Returns what a call may do if its arguments are not complete yet.
    pub(crate) fn of_partial(&self, arguments: &Value) -> EffectiveHints {
        match self {
            Self::Table(table) => EffectiveHints::resolved(table.of_partial(arguments)),
            other => other.worst(),
        }
    }
}

/// Returns what another server says about a call. Its answer can only be safer than the declared worst case, and its failure is
/// the worst case: a server that does not answer cannot make a call look safe.
fn asked<'a>(
    prepared: &dyn Prepared,
    at_most: Hints,
    within: Duration,
    caller: &Caller,
) -> BoxFuture<'a, EffectiveHints> {
    let question = catch_unwind(AssertUnwindSafe(|| prepared.ask_hints(caller)));
    Box::pin(async move {
        let problem = match question {
            Err(panic) => format!("it panicked: {}", trace::panic_reason(&*panic)),
            Ok(question) => {
                let answer = AssertUnwindSafe(question).catch_unwind();
                match tokio::time::timeout(within, answer).await {
                    Ok(Ok(Ok(hints))) if hints.is_at_most(at_most) => {
                        return EffectiveHints::resolved(hints);
                    }
                    Ok(Ok(Ok(hints))) => format!("{hints:?} is riskier than {at_most:?}"),
                    Ok(Ok(Err(error))) => error.to_string(),
                    Ok(Err(panic)) => format!("it panicked: {}", trace::panic_reason(&*panic)),
                    Err(_) => "it took too long".to_owned(),
                }
            }
        };
        trace::note(format_args!("the worst case counts, because an effect is unknown: {problem}"));
        tracing::warn!(problem, "an effect that another server knows is unknown");
        at_most.declared().effective()
    })
}

/// Returns the effects that a tool's annotations declare. If they declare none, the log warns the author: no hints are no
/// classification.
pub(super) fn said_by(definition: &Definition) -> Effects {
    if definition.annotations.as_ref().map(declared).unwrap_or_default() == DeclaredHints::default()
    {
        warning::once(&definition.name, UNSAID);
    }
    Effects::of_annotations(definition)
}

/// Returns the result of an evaluator, if it is no riskier than the tool's worst case and its fields can be sent.
fn believed(said: Option<Annotations>, at_most: Hints) -> Result<Evaluated, EvaluatorFailed> {
    let said = said.ok_or(EvaluatorFailed)?;
    let hints = said.hints();
    if !hints.is_at_most(at_most) {
        trace::note(format_args!(
            "the evaluator returned {hints:?}, which is riskier than {at_most:?}"
        ));
        tracing::error!(?hints, ?at_most, "riskier than the declared worst case");
        return Err(EvaluatorFailed);
    }
    if let Some(problem) = said.problem() {
        trace::note(format_args!(
            "the evaluator returned annotations that cannot be sent: {problem}"
        ));
        tracing::error!(problem, "annotations cannot be sent");
        return Err(EvaluatorFailed);
    }
    Ok(said.into())
}

/// Adds fields besides the hints; they replace what the tool declares for all its calls.
pub fn add_fields(fields: &Map<String, Value>, annotations: &mut ToolAnnotations) {
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("title", Value::String(title)) => annotations.title = Some(title.clone()),
            (name, value) => annotations.extra.set(name, raw(value)),
        }
    }
}

/// Returns the fields besides the hints. They are sent as metadata too: SDKs with closed types drop members of annotations that
/// they do not know, and keep metadata.
#[must_use]
pub fn refined_fields(annotations: &ToolAnnotations) -> Option<Object> {
    let all = Object::decode((&*raw(annotations)).into()).ok()?;
    let fields = HINT_NAMES.iter().fold(all, |fields, name| fields.without(name));
    (!fields.is_empty()).then_some(fields)
}

/// Returns annotations with exactly the four hints.
#[must_use]
pub fn hint_annotations(hints: Hints) -> ToolAnnotations {
    let mut annotations = ToolAnnotations::new();
    write(hints.declared(), &mut annotations);
    annotations
}

/// Returns what annotations declare.
pub(crate) fn declared(annotations: &ToolAnnotations) -> DeclaredHints {
    DeclaredHints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
        effect: None,
    }
}

/// Returns what a Candor server declares: hints, and the effect in `_meta`.
#[must_use]
pub fn declared_hints(annotations: &ToolAnnotations, meta: Option<&Object>) -> DeclaredHints {
    let beside: Option<Object> =
        meta.and_then(|meta| meta.read(extension::DYNAMIC_ANNOTATIONS).ok().flatten());
    let word = beside.as_ref().and_then(|beside| beside.read_str("effect").ok().flatten());
    DeclaredHints {
        effect: word.and_then(|word| Effect::from_word(&word)),
        ..declared(annotations)
    }
}

/// Writes declared hints into annotations, and keeps their other members.
pub(crate) fn write(declared: DeclaredHints, annotations: &mut ToolAnnotations) {
    annotations.read_only_hint = declared.read_only;
    annotations.destructive_hint = declared.destructive;
    annotations.idempotent_hint = declared.idempotent;
    annotations.open_world_hint = declared.open_world;
}
