//! Checks that calls do what their hints say: runs them on a small state, and compares snapshots of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::panic::Location;

use candor_hints::{Effect, Hints};
use candor_protocol::names::method;
use serde::Serialize;
use serde_json::{Value, json};

use super::called::TestResult;
use super::client::{Spot, TestClient, fail};
use super::requests::named;

/// A snapshot of the state that a tool's calls may change: a folder as a map from names to contents, the rows of a database.
///
/// The implementations for common types know when data was lost. A map loses data if a key is gone, or if the key's value lost
/// data. Text and lists lose data if they no longer begin as before. A set loses data if a member is gone. Implement it for
/// snapshots of other types.
pub trait StateSnapshot: PartialEq + Debug {
    /// Returns true if the later snapshot still contains all data of this one.
    fn survives_in(&self, later: &Self) -> bool;
}

impl StateSnapshot for String {
    fn survives_in(&self, later: &Self) -> bool {
        later.starts_with(self.as_str())
    }
}

impl<T: PartialEq + Debug> StateSnapshot for Vec<T> {
    fn survives_in(&self, later: &Self) -> bool {
        later.starts_with(self)
    }
}

impl<T: Ord + Debug> StateSnapshot for BTreeSet<T> {
    fn survives_in(&self, later: &Self) -> bool {
        self.is_subset(later)
    }
}

impl<K: Ord + Debug, V: StateSnapshot> StateSnapshot for BTreeMap<K, V> {
    fn survives_in(&self, later: &Self) -> bool {
        self.iter().all(|(key, value)| later.get(key).is_some_and(|now| value.survives_in(now)))
    }
}

/// The hints of a call, and its observed effect.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObservedCall {
    /// The call's arguments.
    pub arguments: Value,
    /// The hints that the server returned before the call.
    pub foreseen: Hints,
    /// The observed effect. Access outside the server cannot be observed, so that hint is the server's.
    pub seen: Hints,
}

impl TestClient {
    /// Runs each of these calls twice on a fresh state, and compares the effect with the hints that the server returned before. A
    /// call that is read-only must leave the state unchanged. A call that is idempotent must have no further effect the second
    /// time, but may fail then. A call that is not destructive must keep all data. The request for the hints must change nothing.
    ///
    /// Hints may be more cautious than the effect observed here, because another state may show more. Where they should be exact,
    /// compare the two in the result.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// # use candor_server::{Server, tool::{JsonTool, ToolError}};
    /// # use candor_hints::{Hints, EffectRow, EffectTable, Condition};
    /// # use serde_json::json;
    /// # use std::sync::{Arc, Mutex};
    /// let notes = Arc::new(Mutex::new(String::new()));
    /// # let table = EffectTable::new()
    /// #     .row(EffectRow::when("action", Condition::equals("read")).then(Hints::READS))
    /// #     .row(EffectRow::when("action", Condition::equals("append")).then(Hints::ADDS));
    /// # let kept = notes.clone();
    /// # let tool = JsonTool::open("notes", move |args, _| {
    /// #     let mut kept = kept.lock().unwrap();
    /// #     if args["action"] == "append" { kept.push('!') }
    /// #     let text = kept.clone();
    /// #     async { Ok::<_, ToolError>(text) }
    /// # }).effects(table);
    /// # let client = Server::new("notes", "1.0.0").tool(tool).test();
    /// let calls = [json!({"action": "read"}), json!({"action": "append"})];
    /// let set_up = || *notes.lock().unwrap() = "a note".to_owned();
    /// let look = || notes.lock().unwrap().clone();
    /// let observed = client.check_effects("notes", calls, set_up, look).await;
    /// assert!(observed.iter().all(|call| call.seen == call.foreseen));
    /// # }
    /// ```
    ///
    /// # Panics
    /// If a call does more than its hints say, or fails the first time. The message has the state before and after.
    #[track_caller]
    pub fn check_effects<A: Serialize, W: StateSnapshot>(
        &self,
        tool: &str,
        calls: impl IntoIterator<Item = A>,
        mut set_up: impl FnMut(),
        mut look: impl FnMut() -> W,
    ) -> impl Future<Output = Vec<ObservedCall>> {
        let at = Location::caller();
        async move {
            let mut observed = Vec::new();
            for arguments in calls {
                set_up();
                observed.push(self.observe(tool, &arguments, &mut look, at).await);
            }
            observed
        }
    }

    async fn observe<W: StateSnapshot>(
        &self,
        tool: &str,
        arguments: &impl Serialize,
        look: &mut impl FnMut() -> W,
        at: Spot,
    ) -> ObservedCall {
        let before = look();
        let params = named(method::TOOLS_ANNOTATIONS, tool, arguments, at);
        let foreseen = self.expected_hints(tool, params, at).await;
        let arguments = match serde_json::to_value(arguments) {
            Ok(arguments @ Value::Object(_)) => arguments,
            _ => json!({}),
        };
        let call = format!("{tool:?} with {arguments}");
        let asked = look();
        if asked != before {
            fail(
                at,
                format_args!(
                    "asking about {call} changed the world\n  from {before:?}\n  to   {asked:?}"
                ),
            );
        }
        let first = self.make(tool, &arguments, at).await;
        if first.is_error() {
            fail(at, format_args!("{call} fails, so nothing can be seen: {first}"));
        }
        if first.foreseen().is_some_and(|said| said != foreseen) {
            fail(
                at,
                format_args!(
                    "{call} was foreseen as {foreseen:?}, and made as {:?}",
                    first.foreseen()
                ),
            );
        }
        let once = look();
        // Idempotence is about effects: the second call may fail, as long as it has no effect.
        self.make(tool, &arguments, at).await;
        let twice = look();
        let reads = before == once && once == twice;
        let destroys = !(before.survives_in(&once) && once.survives_in(&twice));
        let effect = match Effect::from_hints(reads, destroys) {
            // A snapshot does not distinguish a change from a deletion.
            Effect::ChangesOrDeletes if foreseen.is_destructive() => foreseen.effect(),
            other => other,
        };
        let mut seen = Hints::from_effect(effect);
        if once == twice {
            seen = seen.idempotent();
        }
        if !foreseen.is_open_world() {
            seen = seen.closed_world();
        }
        if !seen.is_at_most(foreseen) {
            fail(
                at,
                format_args!(
                    "{call} was foreseen as {foreseen:?}, but {}\n  before     {before:?}\n  after one  {once:?}\n  after two  {twice:?}",
                    more_than(seen, foreseen)
                ),
            );
        }
        ObservedCall { arguments, foreseen, seen }
    }

    async fn make(&self, tool: &str, arguments: &Value, at: Spot) -> TestResult {
        match self.called(named(method::TOOLS_CALL, tool, arguments, at), at).await {
            Ok(called) => called,
            Err(error) => {
                fail(at, format_args!("{tool:?} with {arguments}: {}", self.explain(&error)))
            }
        }
    }
}

/// Describes the effect that the hints do not allow.
fn more_than(seen: Hints, foreseen: Hints) -> String {
    let found = [
        (foreseen.is_read_only() && !seen.is_read_only(), "it changed something"),
        (!foreseen.is_destructive() && seen.is_destructive(), "it took something away"),
        (foreseen.is_idempotent() && !seen.is_idempotent(), "its second call had a further effect"),
    ];
    let found: Vec<_> = found.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
    found.join(" and ")
}
