//! Whether calls do what was foreseen: they are made in a small world, and what became of it is compared.

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

/// A picture of what a tool's calls may change: a folder as a map from names to contents, the rows of a database.
///
/// Pictures of usual kinds know what it means that something was taken away: from a map, when a key is gone or its value
/// was; from text and lists, when they no longer begin as they did; from a set, when a member is gone. Implement it for
/// pictures of other kinds.
pub trait StateSnapshot: PartialEq + Debug {
    /// Whether everything that is here is in the later picture too.
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

/// What was said of a call, and what it did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObservedCall {
    /// The call's arguments.
    pub arguments: Value,
    /// What the server said that it would do.
    pub foreseen: Hints,
    /// What it did. Whether it reached outside cannot be seen, so that is what was said.
    pub seen: Hints,
}

impl TestClient {
    /// Makes each of these calls twice in a world that was set up anew, and compares what they did to it with the hints
    /// that the server gave before. What was called read-only must leave the world as it is, what was called idempotent
    /// must have no further effect the second time (it may fail then), and what was not called destructive must leave
    /// everything there. Asking itself must change nothing.
    ///
    /// Hints may be more careful than what is seen here, since another world may show more; compare the two in what is
    /// returned where they should be exact.
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
    /// If a call does more than was foreseen, or fails the first time. Says what the world was like before and after.
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
        // Idempotence is about effects: a second call may fail, if it does nothing.
        self.make(tool, &arguments, at).await;
        let twice = look();
        let reads = before == once && once == twice;
        let destroys = !(before.survives_in(&once) && once.survives_in(&twice));
        let effect = match Effect::from_hints(reads, destroys) {
            // A picture does not tell a change from a deletion.
            Effect::ChangesOrDeletes if foreseen.is_destructive() => foreseen.effect(),
            other => other,
        };
        let mut seen = Hints::from_effect(effect);
        if once == twice {
            seen = seen.repeatable();
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

/// What was seen and not foreseen.
fn more_than(seen: Hints, foreseen: Hints) -> String {
    let found = [
        (foreseen.is_read_only() && !seen.is_read_only(), "it changed something"),
        (!foreseen.is_destructive() && seen.is_destructive(), "it took something away"),
        (foreseen.is_idempotent() && !seen.is_idempotent(), "its second call had a further effect"),
    ];
    let found: Vec<_> = found.iter().filter(|(is, _)| *is).map(|(_, words)| *words).collect();
    found.join(" and ")
}
