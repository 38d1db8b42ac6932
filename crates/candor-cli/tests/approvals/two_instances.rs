//! Two instances of one server on one ledger in PostgreSQL: a call waits at the one, and is decided at the other.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use candor::auth::BearerTokens;
use candor::store::open;
use candor_ledger::{
    ApprovalChannel, AuditContext, Event, EventReply, Filter, Options, Page, Review, Store,
};
use serde_json::{Value, json};

use crate::http::{Events, post};
use crate::ledger::{folder, told};
use crate::messages::{modern, text};
use crate::place::Place;
use crate::process::{Program, bounded};
use crate::served::Served;

const ROUNDS: usize = 20;
const LOG: &str = "log.txt";

/// What `--secret-file` holds: these share it.
const OURS: &str = "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";
const ANOTHER: &str = "ff02030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20";

/// The caller's own channel counts for callers that are somebody.
const TOKEN: &str = "a-token";
const BEARER: (&str, &str) = ("Authorization", "Bearer a-token");

/// A folder with a log that every start adds a line to.
struct Site {
    served: Served,
}

impl Site {
    /// `None`: there is no database.
    fn new(name: &str) -> Option<Self> {
        let ledger = Place::server(&format!("two_instances, {name}"))?;
        let served = Served::with(folder(&format!("two instances, {name}")), ledger);
        served.write(LOG, "");
        Some(Self { served })
    }

    async fn instance(&self, secret: &str) -> Instance {
        let file = self.served.beside(&format!("secret-{}", &secret[..2]));
        fs::write(&file, secret).unwrap();
        let tokens = self.served.beside("tokens");
        fs::write(&tokens, BearerTokens::line("ada", TOKEN)).unwrap();
        let flags = ["--http", "127.0.0.1:0", "--ask", "writes", "--hold", "1m"];
        let mut command = self.served.command(&flags);
        command.arg("--secret-file").arg(file).arg("--tokens").arg(tokens);
        let mut program = Program::start(&mut command);
        let address = program.listening().await;
        Instance { _program: program, address }
    }

    async fn two(&self) -> [Instance; 2] {
        [self.instance(OURS).await, self.instance(OURS).await]
    }

    /// How often this line was written.
    fn starts(&self, line: &str) -> usize {
        let log = fs::read_to_string(self.served.folder().join(LOG)).unwrap();
        log.lines().filter(|found| *found == line).count()
    }

    fn store(&self) -> Arc<dyn Store> {
        open(self.served.ledger.named().to_str().unwrap(), Options::default()).unwrap()
    }
}

struct Instance {
    _program: Program,
    address: String,
}

impl Instance {
    async fn send(&self, call: &Value) -> Events {
        Events::post_with(&self.address, call, &[BEARER]).await
    }
}

/// A call that adds a line, by a client that cannot ask its person; it wants to be told while it waits.
fn adding(line: &str, key: Option<&str>) -> Value {
    let arguments = json!({"action": "append", "path": LOG, "content": format!("{line}\n")});
    let params = json!({"name": "manage_files", "arguments": arguments});
    let mut call = modern(1, "tools/call", &params);
    let meta = &mut call["params"]["_meta"];
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    meta["progressToken"] = json!("waits");
    if let Some(key) = key {
        meta["dev.candor/idempotencyKey"] = json!(key);
    }
    call
}

/// The same by a client that can.
fn asking(call: &Value) -> Value {
    let mut call = call.clone();
    let meta = &mut call["params"]["_meta"];
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    meta.as_object_mut().unwrap().remove("progressToken");
    call
}

/// The same with what its person says to the question.
fn answering(call: &Value, state: &Value, decision: &str) -> Value {
    let mut call = asking(call);
    let said = json!({"action": "accept", "content": {"decision": decision}});
    call["params"]["inputResponses"] = json!({"dev.candor/approval": said});
    call["params"]["requestState"] = state.clone();
    call
}

/// Who was told that they wait, does.
async fn waits(stream: &mut Events) {
    let told = stream.next().await.unwrap();
    assert_eq!(told["method"], "notifications/progress", "{told}");
}

fn code(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["dev.candor/error"]["code"]
}

fn is_done(answer: &Value) -> bool {
    answer["result"]["isError"] != true && answer["result"]["content"].is_array()
}

fn is_replayed(answer: &Value) -> bool {
    answer["result"]["_meta"]["dev.candor/idempotency"]["replayed"] == true
}

#[tokio::test]
async fn operator_decision_reaches_callers_at_both_replicas() {
    let Some(site) = Site::new("operator") else { return };
    let both = site.two().await;
    for (at, instance) in both.iter().enumerate() {
        let line = format!("approved {at}");
        let mut stream = instance.send(&adding(&line, None)).await;
        waits(&mut stream).await;
        site.served.decide(&["approve"], &line).await;
        let answer = stream.answer(1).await;
        assert!(is_done(&answer), "{answer}");
        assert_eq!(site.starts(&line), 1);

        let line = format!("denied {at}");
        let mut stream = instance.send(&adding(&line, None)).await;
        waits(&mut stream).await;
        site.served.decide(&["deny", "--reason", "not this one"], &line).await;
        let answer = stream.answer(1).await;
        assert_eq!(code(&answer), "denied", "{answer}");
        assert!(text(&answer).contains("not this one"), "{answer}");
        // The denial applies at the other replica, too.
        let there = both[1 - at].send(&adding(&line, None)).await.answer(1).await;
        assert_eq!(code(&there), "denied", "{there}");
        assert_eq!(site.starts(&line), 0);
    }
}

#[tokio::test]
async fn client_may_answer_at_another_replica_with_the_same_secret() {
    let Some(site) = Site::new("client") else { return };
    let [one, other] = site.two().await;
    let stranger = site.instance(ANOTHER).await;
    for (line, decision) in [("a-yes", "approve"), ("a-no", "deny")] {
        let call = adding(line, Some(line));
        let mut waiting = one.send(&call).await;
        waits(&mut waiting).await;
        let asked = one.send(&asking(&call)).await.answer(1).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let answer = answering(&call, &asked["result"]["requestState"], decision);
        assert_eq!(site.served.queue().len(), 1, "one request, whichever channel asks");

        // A replica with another secret refuses the state.
        let refused = post(&stranger.address, &answer, &[BEARER]).await.json();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!((site.served.queue().len(), site.starts(line)), (1, 0));

        let there = other.send(&answer).await.answer(1).await;
        let here = waiting.answer(1).await;
        if decision == "approve" {
            assert!(is_done(&there) && is_done(&here), "{there} {here}");
            assert_eq!(there["result"]["content"], here["result"]["content"]);
            assert_ne!(is_replayed(&there), is_replayed(&here), "exactly one replica ran it");
        } else {
            assert_eq!((code(&there), code(&here)), (&json!("denied"), &json!("denied")));
        }
        assert_eq!(site.starts(line), usize::from(decision == "approve"));
        assert_eq!(site.served.queue().len(), 0);
    }
    let mut history = crate::ledger::candor();
    history.args(["history", "show", "a-yes", "--ledger"]).arg(site.served.ledger.named());
    let story = told(&mut history);
    assert!(story.text().contains("via client"), "{}", story.stdout);
}

/// Decides on the one question that waits, if one does.
async fn decide(store: &dyn Store, decision: Review) -> bool {
    let waiting = store.waiting(Filter::default(), Page::default()).await.unwrap().items;
    let Some(entry) = waiting.first() else { return false };
    let question = entry.stored.question().unwrap();
    let event =
        Event::Decide { question, by: "olga".into(), via: ApprovalChannel::Operator, decision };
    store.apply(&entry.id, event, AuditContext::default()).await.unwrap() == EventReply::Done
}

#[tokio::test]
async fn approval_is_used_at_only_one_replica() {
    let Some(site) = Site::new("race") else { return };
    let [one, other] = site.two().await;
    let store = site.store();
    for round in 0..ROUNDS {
        for key in [None, Some(format!("round-{round}"))] {
            let line = format!("{round} {}", if key.is_some() { "keyed" } else { "bare" });
            let call = adding(&line, key.as_deref());
            let (mut here, mut there) = (one.send(&call).await, other.send(&call).await);
            waits(&mut here).await;
            waits(&mut there).await;
            assert!(decide(&*store, Review::Approve).await, "{line}");
            let both = async { tokio::join!(here.answer(1), there.answer(1)) };
            // A call without a key that did not get the approval is another call. Its new request is denied.
            let deny = async {
                loop {
                    decide(&*store, Review::Deny { reason: None }).await;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            let (here, there) = bounded("both are answered", async {
                tokio::select! {
                    both = both => both,
                    () = deny => unreachable!("the loop does not end"),
                }
            })
            .await;
            assert_eq!(site.starts(&line), 1, "{here} {there}");
            let did = [&here, &there].map(|told| is_done(told) && !is_replayed(told));
            assert!(did[0] != did[1], "exactly one replica ran it: {here} {there}");
            let rest = if did[0] { &there } else { &here };
            match key {
                Some(_) => assert!(is_replayed(rest), "{rest}"),
                // Another call: denied or waiting for approval, never the result of the first.
                None => {
                    let told = code(rest).as_str();
                    assert!(matches!(told, Some("denied" | "approval_required")), "{rest}");
                }
            }
        }
    }
}
