//! MCP servers of both eras.
//!
//! # Map
//!
//! | what | where |
//! |---|---|
//! | describing a server | [`Server`], [`tool`], [`resource`], [`prompt`] |
//! | the running server: every transport calls one function | `Engine::handle` |
//! | which method does what | `dispatch`, then one file each in `methods` |
//! | a tool call, stage by stage | `methods/tools_call` |
//! | what a handler can do while it runs | [`Ctx`]: progress, log, questions, changes |
//! | questions to a client, in both eras | `ask`, and `round` for what a modern client sends back |
//! | legacy sessions | `session` |
//! | transports | [`transport::stdio`], [`transport::http`] |
//! | capacity: how much runs at once, in total and per caller | `room` |
//! | checks before a call starts: plans, rate limits, serial groups | `admission` |
//! | calls with a record, and audit rows | `ledger`; the durable store: [`store`] |
//! | policy and approvals | `gate` |
//! | requests from the same process, such as REST and the console | [`Visit`], [`Catalogue`], [`Decision`] |
//! | what an operator sees and does | [`desk`]; text that is safe to display: `people` |
//! | authentication | [`auth`] |
//! | trace ids, which connect an error to its log lines | `trace` |
//! | the server secret and the tokens that it signs | [`Secret`] |
//! | a client for tests | [`testing`] |
//!
//! This crate contains no HTML and no command-line code.

mod about;
mod admission;
mod answer;
mod arguments;
mod ask;
mod attempt;
pub mod auth;
mod blocking;
mod call_tracker;
mod caller;
mod catalogue;
mod changes;
mod completion;
mod ctx;
mod deadline;
mod decision;
pub mod desk;
mod dispatch;
mod engine;
mod exchange;
mod form;
mod gate;
mod hex;
mod identity;
mod ledger;
mod limits;
mod methods;
mod mirror;
mod outlet;
mod page;
mod people;
mod pipe;
pub mod prompt;
mod provider;
mod refusal_log;
pub mod resource;
mod response_capacity;
mod room;
mod round;
mod running;
mod seal;
mod server;
mod session;
mod span;
mod state;
pub mod testing;
pub mod tool;
mod trace;
pub mod transport;
mod visit;
mod weight;
mod written;

pub use about::{About, SessionView, host_name};
pub use answer::{CacheHint, CacheScope};
pub use arguments::Arguments;
pub use ask::{AskError, Elicit, ElicitAnswer, Sample};
#[doc(hidden)]
pub use blocking::blocking;
pub use caller::ClientInfo;
pub use candor_hints::{AskLevel, Verdict};
pub use catalogue::{Catalogue, ToolView};
pub use changes::Changes;
pub use completion::IntoProposals;
pub use ctx::Ctx;
pub use decision::{Decision, DecisionId, NextStep, RecordStatus};
pub use engine::Engine;
pub use form::FormAnswer;
pub use gate::{ArgumentPattern, PatternError};
pub use ledger::{Audit, KeepArguments};
pub use limits::Limits;
pub use seal::{Secret, SecretError};
pub use server::{BuildError, Server};
pub use state::{FromCtx, Need, State};
#[doc(hidden)]
pub use trace::trace_id;
pub use visit::{Arrived, CallEvent, Visit};

pub use candor_hints as hints;
pub use candor_ledger as store;
pub use candor_protocol as protocol;
pub use futures_util::future::BoxFuture;
