//! Tools, resources, prompts, policy and the call, in domain types. Nothing here knows a wire format, a transport or an era of the
//! protocol.
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | describing a server, and building its engine | [`EngineSpec`], [`Engine`] |
//! | who asks, and the way back to its client | [`Caller`], [`Peer`] |
//! | what one request sees and can do: list, decide, call, read, watch, prompt, complete | [`View`] |
//! | a call, the decision about it, and what it ends with | [`Call`], [`Decision`], [`Outcome`] |
//! | why a call does not run: one table | [`Refusal`] |
//! | which calls run, need approval, or are denied | [`policy`] |
//! | what a handler can do while it runs | [`Ctx`] |
//! | tools, resources, prompts | [`tool`], [`resource`], [`prompt`] |
//! | how much runs at once, how often, in which order | [`Capacity`], [`Limits`] |
//! | calls with a record, and audit rows | [`Audit`], [`KeepArguments`] |
//!
//! One call passes `view` > `call` (prepare, gather, judge, act) > `record` or `ctx`. Modules use only those below them:
//! `engine` > `view` > `call` > `record` > `policy` > `tool`, `resource`, `prompt` > `ctx` > `peer`, `error`, `capacity`.

mod blocking;
mod call;
mod caller;
mod capacity;
mod changes;
mod completion;
mod ctx;
mod display;
mod elicitations;
mod engine;
mod error;
mod identity;
mod outcome;
mod parts;
mod peer;
mod plans;
pub mod policy;
pub mod prompt;
mod provider;
mod record;
pub mod resource;
mod seal;
mod spec;
pub mod tool;
#[doc(hidden)]
pub mod trace;
mod view;
#[doc(hidden)]
pub mod weight;

#[doc(hidden)]
pub use blocking::blocking;
pub use call::decision::{Decision, NextStep, RecordStatus};
pub use call::{Call, DecisionId, Expectation, caller_key};
pub use caller::{Caller, ClientInfo};
pub use capacity::{
    AtCapacity, Capacity, Limits, RateLimit, ResponseCapacity, SMALL, SerialPosition, Slot,
};
pub use changes::{Change, ChangeListener, Changes, Lists};
pub use completion::{CompletionSubject, IntoProposals};
pub use ctx::round::{PendingQuestions, Resume};
pub use ctx::{Ctx, Elicit, ElicitAnswer, FormAnswer, FromCtx, Need, RequestSlots, Sample, State};
pub use engine::Engine;
pub use error::{
    AskError, ChangedDecision, Refusal, RefusalRow, Retry, ToolError, violations_as_json,
};
pub use identity::{Claims, Identity};
pub use outcome::{CallEnd, Outcome, RecordNote};
pub use peer::{NoPeer, Peer, Progress, QuestionChannel};
pub use record::{Audit, KeepArguments};
pub use seal::{Seal, Secret, SecretError, random_id};
pub use spec::{BuildError, EngineSpec};
pub use view::{Reply, RequestFailure, ToolView, View};
