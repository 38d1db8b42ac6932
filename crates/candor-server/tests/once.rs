//! Calls that have a key: started at most once, whatever happens to the caller, the handler or the store; and every answer is
//! the first result, or says that nobody knows.

#![allow(missing_docs)]

#[allow(unused_imports)]
mod common;

#[path = "once/audit.rs"]
mod audit;
#[path = "once/bench.rs"]
mod bench;
#[path = "once/callers.rs"]
mod callers;
#[path = "once/handlers.rs"]
mod handlers;
#[path = "once/keys.rs"]
mod keys;
#[path = "once/lifecycle.rs"]
mod lifecycle;
#[allow(dead_code)]
#[path = "stdio/client.rs"]
mod lines;
#[path = "once/moody.rs"]
mod moody;
#[path = "once/published.rs"]
mod published;
#[path = "once/questions.rs"]
mod questions;
#[path = "once/replay.rs"]
mod replay;
#[path = "once/scope.rs"]
mod scope;
#[path = "once/shares.rs"]
mod shares;
#[path = "once/together.rs"]
mod together;
#[path = "once/trouble.rs"]
mod trouble;
#[path = "once/wire.rs"]
mod wire;
#[path = "once/without.rs"]
mod without;
