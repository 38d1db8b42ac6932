//! What a person is asked about, and what others try to have without: none of it deletes an invoice.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use candor::auth::BearerTokens;
use candor::store::{
    ApprovalChannel, AuditContext, Event, EventReply, Filter, LedgerLimits, NewGrant, Options,
    Order, Page, RecordEntry, Review, Store,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, Era, Kind, Person, everywhere};
use crate::desk::{code, mark};
use crate::messages::text;
use crate::shop::{CUSTOMER, Shop, Way, order};

/// Asks about what is destructive, and does not let callers wait for long.
const ASKING: [&str; 4] = ["--ask", "destructive", "--hold", "50ms"];

/// Somebody who decides elsewhere, and is no caller.
struct Operator(Arc<dyn Store>);

impl Operator {
    fn of(shop: &Shop) -> Self {
        Self(shop.ledger(Options::default()))
    }

    /// Whose approvals are good for no time at all.
    fn hasty(shop: &Shop) -> Self {
        let rules = LedgerLimits { approval_valid: Duration::ZERO, ..LedgerLimits::default() };
        Self(shop.ledger(Options { rules, ..Options::default() }))
    }

    async fn waiting(&self) -> Vec<RecordEntry> {
        self.0.waiting(Filter::default(), Page::default()).await.unwrap().items
    }

    /// Waits until something waits.
    async fn waits(&self) {
        let begun = Instant::now();
        while self.waiting().await.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing waits");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Decides on the only question that there is.
    async fn decides(&self, decision: Review) {
        let [entry] = &self.waiting().await[..] else { panic!("not one question waits") };
        let question = entry.stored.question().unwrap();
        let event = Event::Decide {
            question,
            by: "olga".to_owned(),
            via: ApprovalChannel::Operator,
            decision,
        };
        let told = self.0.apply(&entry.id, event, AuditContext::default()).await.unwrap();
        assert_eq!(told, EventReply::Done);
    }

    async fn approves(&self) {
        self.decides(Review::Approve).await;
    }

    /// How often this has happened.
    async fn count(&self, event: &str) -> usize {
        let all = Page { from: None, most: 1000, order: Order::Oldest };
        let rows = self.0.rows(Filter::default(), all).await.unwrap().items;
        rows.iter().filter(|row| row.event == event).count()
    }
}

/// There are three invoices.
async fn invoices(client: &Client) {
    for key in ["k-1", "k-2", "k-3"] {
        let made = client.call("create_invoice", &order(key)).await;
        assert_eq!(code(&made), None, "{made}");
    }
}

fn there(shop: &Shop) -> usize {
    shop.invoices().values().map(Vec::len).sum()
}

/// The invoice is there again, as if it had never been deleted.
fn put_back(shop: &Shop) {
    let back = "INSERT INTO invoices (id, customer_id, amount_cents, status, idempotency_key) \
                VALUES (1, ?, 5, 'draft', 'k-1')";
    shop.books().execute(back, [CUSTOMER]).unwrap();
}

fn one() -> Value {
    json!({"invoice_id": "inv_1"})
}

async fn delete(client: &Client) -> Value {
    client.call("delete_invoice", &one()).await
}

/// Nothing starts without an approval, and one approval is for one start.
#[tokio::test]
async fn one_approval_starts_the_call_once() {
    everywhere("asked", &ASKING, async |shop, client| {
        invoices(client).await;
        let operator = Operator::of(shop);
        let told = delete(client).await;
        assert_eq!(code(&told), Some("approval_required"), "{told}");
        let operation =
            |told: &Value| told["result"]["_meta"]["dev.candor/error"]["operation"].clone();
        assert!(operation(&told).is_string(), "{told}");
        assert_eq!(operation(&delete(client).await), operation(&told), "no second request");
        assert_eq!((operator.waiting().await.len(), there(shop)), (1, 3));
        // A read needs no approval.
        assert_eq!(code(&client.call("get_invoice", &one()).await), None);

        operator.approves().await;
        assert_eq!(there(shop), 3, "an approval alone starts nothing");
        assert_eq!(text(&delete(client).await), "Invoice inv_1 deleted.");
        put_back(shop);
        assert_eq!(code(&delete(client).await), Some("approval_required"), "the approval is used");
        assert_eq!(there(shop), 3);

        operator.decides(Review::Deny { reason: Some("it is needed".to_owned()) }).await;
        let denied = delete(client).await;
        assert_eq!(code(&denied), Some("denied"), "{denied}");
        assert!(text(&denied).contains("it is needed"), "{denied}");
        assert_eq!(there(shop), 3);
    })
    .await;
}

/// Preview, approval, run. An approval of one plan does not cover another.
#[tokio::test]
async fn migration_needs_a_preview_and_then_approval() {
    everywhere("asked-migration", &ASKING, async |shop, client| {
        let operator = Operator::of(shop);
        let refunds = json!({"migration_id": "refunds"});
        let planned = async || {
            let shown = client.call("preview_migration", &refunds).await;
            let token = shown["result"]["_meta"]["dev.candor/plan"]["token"].clone();
            json!({"migration_id": "refunds", "plan_token": token})
        };
        let execute = async |arguments: &Value| client.call("execute_migration", arguments).await;
        assert_eq!(code(&execute(&refunds).await), Some("preview_required"));
        assert!(operator.waiting().await.is_empty(), "there is no request before the preview");

        let first = planned().await;
        assert_eq!(code(&execute(&first).await), Some("approval_required"));
        operator.approves().await;
        shop.books().execute_batch("CREATE TABLE another (id INTEGER)").unwrap();
        assert_eq!(code(&execute(&first).await), Some("plan_stale"));
        let second = planned().await;
        let told = execute(&second).await;
        assert_eq!(
            code(&told),
            Some("approval_required"),
            "no reviewer has seen this plan: {told}"
        );
        assert!(shop.books().execute_batch("SELECT id FROM refunds").is_err());
        operator.approves().await;
        // Another preview of the same state changes nothing.
        let again = planned().await;
        assert_eq!(text(&execute(&again).await), "Migration refunds applied.");
        shop.books().execute_batch("SELECT id FROM refunds").unwrap();
    })
    .await;
}

#[tokio::test]
async fn approval_covers_only_its_tool_and_arguments() {
    everywhere("edited", &ASKING, async |shop, client| {
        invoices(client).await;
        delete(client).await;
        let operator = Operator::of(shop);
        operator.approves().await;
        for (tool, arguments) in [
            ("delete_invoice", json!({"invoice_id": "inv_2"})),
            ("void_invoice", one()),
            ("update_invoice", json!({"id": "inv_1", "status": "void"})),
        ] {
            let told = client.call(tool, &arguments).await;
            assert_eq!(code(&told), Some("approval_required"), "{tool}: {told}");
        }
        // A key makes it another call, too.
        let keyed = json!({"_meta": {"dev.candor/idempotencyKey": "mine"}});
        let told = client.call_with("delete_invoice", &one(), &keyed).await;
        assert_eq!(code(&told), Some("approval_required"), "{told}");
        let changed = "SELECT count(*) FROM invoices WHERE status <> 'draft'";
        let changed: i64 = shop.books().query_row(changed, [], |row| row.get(0)).unwrap();
        assert_eq!((there(shop), changed), (3, 0));
        assert_eq!(text(&delete(client).await), "Invoice inv_1 deleted.", "that one is approved");
    })
    .await;
}

#[tokio::test]
async fn unused_approval_expires() {
    everywhere("ended", &ASKING, async |shop, client| {
        invoices(client).await;
        delete(client).await;
        // The approval expires at once.
        Operator::hasty(shop).approves().await;
        let operator = Operator::of(shop);
        assert!(operator.waiting().await.is_empty());
        let told = delete(client).await;
        assert_eq!(code(&told), Some("approval_required"), "{told}");
        assert_eq!((operator.waiting().await.len(), there(shop)), (1, 3), "there is a new request");
        operator.approves().await;
        assert_eq!(text(&delete(client).await), "Invoice inv_1 deleted.");
    })
    .await;
}

/// Two callers, by their tokens.
async fn alice_and_bob(
    shop: &Shop,
    kind: Kind,
    person: Person,
) -> (crate::process::Program, Client, Client) {
    let lines = [BearerTokens::line("alice", "a-token"), BearerTokens::line("bob", "b-token")];
    let tokens = shop.file("tokens");
    fs::write(&tokens, lines.join("\n")).unwrap();
    let flags = [&ASKING[..], &["--tokens", tokens.to_str().unwrap()]].concat();
    let (server, client) = shop.client(kind, &flags, person).await;
    let (alice, bob) = (client.with_token("a-token").await, client.with_token("b-token").await);
    (server, alice, bob)
}

#[tokio::test]
async fn approval_covers_only_its_caller() {
    for kind in Kind::HTTP {
        let shop = Shop::new(&format!("another-{kind}"));
        let (_server, alice, bob) = alice_and_bob(&shop, kind, Person::Nobody).await;
        invoices(&alice).await;
        delete(&alice).await;
        let operator = Operator::of(&shop);
        operator.approves().await;
        let told = delete(&bob).await;
        assert_eq!(code(&told), Some("approval_required"), "{kind}: {told}");
        assert_eq!(there(&shop), 3);
        let asked = operator.waiting().await;
        assert_eq!(asked[0].id.scope.principal, "bob");
        assert_eq!(text(&delete(&alice).await), "Invoice inv_1 deleted.");
    }
}

fn yes(state: &Value) -> Value {
    let answer = json!({"action": "accept", "content": {"decision": "approve"}});
    json!({"inputResponses": {"dev.candor/approval": answer}, "requestState": state})
}

/// An answer of a modern client counts once, with the state of that request, and only from the caller that was asked.
#[tokio::test]
async fn invalid_or_reused_request_state_starts_nothing() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.era == Era::Modern) {
        let shop = Shop::new(&format!("state-{kind}"));
        let (person, _) = Person::approving();
        let (_server, client) = shop.client(kind, &ASKING, person).await;
        invoices(&client).await;
        let try_delete = async |id: &str, more: &Value| {
            client.call_once("delete_invoice", &json!({"invoice_id": id}), more).await
        };
        // An approval before any request.
        let mut forged = yes(&Value::Null);
        forged.as_object_mut().unwrap().shift_remove("requestState");
        let told = try_delete("inv_1", &forged).await;
        assert_eq!(told["result"]["resultType"], "input_required", "{kind}: {told}");
        let state = told["result"]["requestState"].as_str().unwrap();
        let mut bytes = state.as_bytes().to_vec();
        bytes[10] = if bytes[10] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        for (id, state) in [
            ("inv_1", format!("{state}x")),
            ("inv_1", changed),
            ("inv_1", String::new()),
            ("inv_2", state.to_owned()),
        ] {
            let told = try_delete(id, &yes(&json!(state))).await;
            assert_eq!(told["error"]["code"], -32602, "{kind}, {id}: {told}");
        }
        assert_eq!(there(&shop), 3);
        // The valid state counts once.
        let ran = try_delete("inv_1", &yes(&json!(state))).await;
        assert_eq!(text(&ran), "Invoice inv_1 deleted.", "{ran}");
        put_back(&shop);
        let again = try_delete("inv_1", &yes(&json!(state))).await;
        assert_eq!(again["result"]["resultType"], "input_required", "another request: {again}");
        assert_eq!(there(&shop), 3);
        // The old state does not answer the new request.
        let told = try_delete("inv_1", &yes(&json!(state))).await;
        assert_ne!(text_or_none(&told), Some("Invoice inv_1 deleted."), "{told}");
        assert_eq!(there(&shop), 3);
    }
    let kind = Kind { way: Way::Http, era: Era::Modern };
    let shop = Shop::new("state-borrowed");
    let (_server, alice, bob) = alice_and_bob(&shop, kind, Person::approving().0).await;
    invoices(&alice).await;
    let asked = alice.call_once("delete_invoice", &one(), &json!({})).await;
    let state = &asked["result"]["requestState"];
    let told = bob.call_once("delete_invoice", &one(), &yes(state)).await;
    assert_eq!(told["error"]["code"], -32602, "{told}");
    assert_eq!(there(&shop), 3);
}

fn text_or_none(answer: &Value) -> Option<&str> {
    answer["result"]["content"][0]["text"].as_str()
}

/// In the legacy era the server asks. An answer to another request, or a late one, does not count.
#[tokio::test]
async fn late_or_unsolicited_answer_starts_nothing() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.era == Era::Legacy) {
        let shop = Shop::new(&format!("late-{kind}"));
        let (person, shown) = Person::leaving();
        let (_server, client) = shop.client(kind, &ASKING, person).await;
        invoices(&client).await;
        let told = delete(&client).await;
        assert_eq!(code(&told), Some("approval_required"), "{kind}: {told}");
        assert_eq!(shown.times(), 1);
        let yes = json!({"action": "accept", "content": {"decision": "approve"}});
        for id in [shown.last().0, json!(1), json!("candor-1")] {
            client.answer(&id, &yes).await;
        }
        let again = delete(&client).await;
        assert_eq!(code(&again), Some("approval_required"), "{kind}: {again}");
        assert_eq!(there(&shop), 3);
        assert_eq!(Operator::of(&shop).count("decide").await, 0);
    }
}

/// The user of the client sees the effect, decides, and is asked once.
#[tokio::test]
async fn user_of_the_client_is_asked_once_and_decides() {
    for kind in Kind::ALL {
        for (name, (person, shown)) in [
            ("yes", Person::approving()),
            ("no", Person::denying()),
            ("neither", Person::leaving()),
        ] {
            let shop = Shop::new(&format!("person-{name}-{kind}"));
            let (_server, client) = shop.client(kind, &ASKING, person).await;
            invoices(&client).await;
            let told = delete(&client).await;
            let (result, left) = match name {
                "yes" => (None, 2),
                "no" => (Some("denied"), 3),
                _ => (Some("approval_required"), 3),
            };
            assert_eq!((code(&told), there(&shop)), (result, left), "{kind}, {name}: {told}");
            assert_eq!(shown.times(), 1, "{kind}, {name}");
            let (_, asked) = shown.last();
            for said in [
                "May delete_invoice run?",
                "Deletes · not safe to retry · local",
                "\n> Permanently deletes an invoice\n",
                "\nThe server says that the call cannot be undone.\n",
                "\"invoice_id\": \"inv_1\"",
            ] {
                assert!(asked.contains(said), "{said} in {asked}");
            }
        }
    }
}

/// A caller answers a question that it was not asked, in the ways of its era, and nothing comes of it.
async fn says_yes_unasked(client: &Client, era: Era) {
    match era {
        Era::Modern => {
            let mut unasked = yes(&Value::Null);
            unasked.as_object_mut().unwrap().shift_remove("requestState");
            let told = client.call_once("delete_invoice", &one(), &unasked).await;
            assert_eq!(code(&told), Some("approval_required"), "{told}");
            let told = client.call_once("delete_invoice", &one(), &yes(&json!("AAAA"))).await;
            assert_eq!(told["error"]["code"], -32602, "{told}");
        }
        Era::Legacy => {
            let yes = json!({"action": "accept", "content": {"decision": "approve"}});
            for id in [json!(1), json!("candor-1")] {
                client.answer(&id, &yes).await;
            }
            assert_eq!(code(&delete(client).await), Some("approval_required"));
        }
    }
}

/// With `--operators-only`, the caller's own channel decides nothing.
#[tokio::test]
async fn operators_only_ignores_the_callers_own_answer() {
    let flags = [&ASKING[..], &["--operators-only"]].concat();
    for kind in Kind::ALL {
        let shop = Shop::new(&format!("band-{kind}"));
        let (person, shown) = Person::approving();
        let (_server, client) = shop.client(kind, &flags, person).await;
        invoices(&client).await;
        let told = delete(&client).await;
        assert_eq!(code(&told), Some("approval_required"), "{kind}: {told}");
        says_yes_unasked(&client, kind.era).await;
        let operator = Operator::of(&shop);
        assert_eq!(
            (shown.times(), there(&shop), operator.count("decide").await),
            (0, 3, 0),
            "{kind}"
        );
        operator.approves().await;
        assert_eq!(text(&delete(&client).await), "Invoice inv_1 deleted.");
        assert_eq!(shown.times(), 0);
    }
}

/// The server does not ask an anonymous caller through its client, and an answer from there decides nothing: any program
/// that reaches the port could send it. The same server asks a caller with a token.
#[tokio::test]
async fn anonymous_caller_cannot_approve_its_own_call() {
    for kind in Kind::HTTP {
        let shop = Shop::new(&format!("nobody-{kind}"));
        let (person, shown) = Person::approving();
        let (server, client) = shop.unnamed_client(kind, &ASKING, person).await;
        invoices(&client).await;
        let told = delete(&client).await;
        assert_eq!(code(&told), Some("approval_required"), "{kind}: {told}");
        says_yes_unasked(&client, kind.era).await;
        let operator = Operator::of(&shop);
        assert_eq!(
            (shown.times(), there(&shop), operator.count("decide").await),
            (0, 3, 0),
            "{kind}"
        );
        // An operator's approval counts.
        operator.approves().await;
        assert_eq!(text(&delete(&client).await), "Invoice inv_1 deleted.");
        drop((server, client));
        put_back(&shop);
        let (person, shown) = Person::approving();
        let (_server, client) = shop.client(kind, &ASKING, person).await;
        assert_eq!(text(&delete(&client).await), "Invoice inv_1 deleted.", "{kind}");
        assert_eq!(shown.times(), 1);
    }
}

/// A state from before `--operators-only` does not get around the flag.
#[tokio::test]
async fn state_from_before_operators_only_is_refused() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.era == Era::Modern) {
        let shop = Shop::new(&format!("before-{kind}"));
        let secret = shop.file("secret");
        fs::write(&secret, "ab".repeat(32)).unwrap();
        let flags = [&ASKING[..], &["--secret-file", secret.to_str().unwrap()]].concat();
        let (server, client) = shop.client(kind, &flags, Person::approving().0).await;
        invoices(&client).await;
        let asked = client.call_once("delete_invoice", &one(), &json!({})).await;
        let state = asked["result"]["requestState"].clone();
        assert!(state.is_string(), "{asked}");
        drop((server, client));
        let flags = [&flags[..], &["--operators-only"]].concat();
        let (_server, client) = shop.client(kind, &flags, Person::approving().0).await;
        let told = client.call_once("delete_invoice", &one(), &yes(&state)).await;
        assert_eq!(code(&told), Some("approval_required"), "{kind}: {told}");
        assert_eq!(there(&shop), 3);
    }
}

/// A call that is sent a hundred times at once makes one request, in either channel, and starts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_concurrent_calls_make_one_request_and_one_start() {
    for kind in Kind::ALL {
        for through_client in [true, false] {
            eprintln!("{kind}, through the client: {through_client}");
            let shop = Shop::new(&format!("hundred-{through_client}-{kind}"));
            let (person, shown) = Person::approving();
            let person = if through_client { person } else { Person::Nobody };
            let flags = ["--ask", "destructive", "--hold", "40s"];
            let (_server, client) = shop.client(kind, &flags, person).await;
            invoices(&client).await;
            let mut calls = JoinSet::new();
            for _ in 0..100 {
                let client = client.clone();
                let keyed = json!({"_meta": {"dev.candor/idempotencyKey": "once"}});
                calls
                    .spawn(async move { client.call_with("delete_invoice", &one(), &keyed).await });
            }
            let operator = Operator::of(&shop);
            if !through_client {
                operator.waits().await;
                operator.approves().await;
            }
            let answers = calls.join_all().await;
            for told in &answers {
                assert_eq!(text(told), "Invoice inv_1 deleted.", "{kind}: {told}");
            }
            let first: Vec<_> =
                answers.iter().filter(|told| mark(told)["replayed"] == false).collect();
            assert_eq!(first.len(), 1, "{kind}: {first:?}");
            assert_eq!(shown.times(), usize::from(through_client), "{kind}");
            let events = (operator.count("ask").await, operator.count("decide").await);
            // The three calls that created the invoices have started, too.
            assert_eq!((events, operator.count("start").await), ((1, 1), 4), "{kind}");
            assert_eq!(there(&shop), 2);
        }
    }
}

/// A grant covers the calls that match its pattern, until it is revoked.
#[tokio::test]
async fn call_under_a_grant_runs_without_approval() {
    everywhere("granted", &ASKING, async |shop, client| {
        invoices(client).await;
        delete(client).await;
        let operator = Operator::of(shop);
        let waiting = operator.waiting().await.remove(0);
        let granting = NewGrant {
            binding: waiting.stored.question().unwrap().binding,
            scope: waiting.id.scope,
            pattern: json!({"invoice_id": {"is": "inv_1"}}).to_string(),
            by: "olga".to_owned(),
            lasts: Duration::from_secs(900),
        };
        let grant = operator.0.grant(granting).await.unwrap();
        assert_eq!(text(&delete(client).await), "Invoice inv_1 deleted.");
        let other = client.call("delete_invoice", &json!({"invoice_id": "inv_2"})).await;
        assert_eq!(code(&other), Some("approval_required"));
        put_back(shop);
        operator.0.revoke(grant.id, "olga".to_owned()).await.unwrap();
        assert_eq!(code(&delete(client).await), Some("approval_required"));
        assert_eq!(there(shop), 3);
        // Its audit row names the grant.
        let all = Page { from: None, most: 1000, order: Order::Oldest };
        let rows = operator.0.rows(Filter::default(), all).await.unwrap().items;
        let delete = |row: &&candor::store::AuditRow| {
            // The start has closed the request that was open when the grant was given.
            row.event == "start" && row.scope.tool == "delete_invoice"
        };
        let calls: Vec<_> = rows.iter().filter(delete).collect();
        let [called] = &calls[..] else { panic!("not one call") };
        let note = called.circumstances.note.as_deref().unwrap();
        assert_eq!(note, format!("tester 1, grant {} of olga", grant.id));
    })
    .await;
}
