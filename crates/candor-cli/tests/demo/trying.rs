//! What can be tried.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::process::output;
use crate::{Demo, Machine};

fn names<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|item| item[member].as_str().unwrap()).collect()
}

#[tokio::test]
async fn demo_prints_its_addresses_and_commands() {
    let machine = Machine::new("says");
    let demo = Demo::start(&machine, &[]).await;
    let (address, world) = (&demo.address, demo.world.display());
    assert_eq!(demo.line("mcp"), format!("http://{address}/mcp"));
    assert!(demo.line("console").starts_with(&format!("http://{address}/#token=")));
    assert_eq!(demo.line("ledger"), format!("SQLite file {world}/ledger.db"));
    assert!(demo.said[0].contains(&*world.to_string()), "{:?}", demo.said);
    assert!(demo.said[0].ends_with("asks before: destructive"), "{:?}", demo.said);
    let mode = demo.world.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only its owner can open it");
    let commands: Vec<_> =
        demo.said.iter().filter_map(|line| line.trim().strip_prefix("candor ")).collect();
    for wanted in ["tools", "explain", "call", "resources", "read"] {
        let wanted = format!("{wanted} :{}", demo.port());
        assert!(commands.iter().any(|command| command.starts_with(&wanted)), "{commands:?}");
    }
    assert!(commands.contains(&"demo --crash"), "{commands:?}");
    demo.end().await;
}

#[tokio::test]
async fn suggestions_match_the_flags_of_the_demo() {
    let machine = Machine::new("tips");
    let demo = Demo::start(&machine, &["--ask", "never"]).await;
    assert!(demo.said[0].ends_with("asks before: never"), "{:?}", demo.said);
    assert!(!demo.said.iter().any(|line| line.contains("needs approval")), "{:?}", demo.said);
    demo.end().await;

    let demo = Demo::start(&machine, &["--no-console"]).await;
    assert!(!demo.said.iter().any(|line| line.contains("console")), "{:?}", demo.said);
    assert!(demo.said.iter().any(|line| line.contains("needs approval")), "{:?}", demo.said);
    demo.end().await;
}

#[tokio::test]
async fn demo_with_a_ledger_in_memory_proposes_no_approvals_command() {
    let machine = Machine::new("memory");
    for (flags, proposal) in [
        (&["--ledger", "memory:"][..], "it needs approval, in the console"),
        (&["--ledger", "memory:", "--no-console"], "leave out --ledger memory: or --no-console"),
    ] {
        let demo = Demo::start(&machine, flags).await;
        let said = demo.said.join("\n");
        assert!(said.contains(proposal), "{said}");
        assert!(!said.contains("candor approvals"), "{said}");
        assert!(said.contains("candor call "), "{said}");
        demo.end().await;
    }
}

#[tokio::test]
async fn demo_serves_invoices_files_and_resources_together() {
    let machine = Machine::new("world");
    let demo = Demo::start(&machine, &["--ask", "never"]).await;
    let listed = demo.ask("tools/list", &json!({})).await;
    let tools = names(&listed["tools"], "name");
    for wanted in ["create_invoice", "delete_invoice", "execute_migration", "manage_files"] {
        assert_eq!(tools.iter().filter(|name| **name == wanted).count(), 1, "{tools:?}");
    }

    let page = demo.done("list_invoices", json!({})).await;
    let mut states = names(&page["invoices"], "status");
    states.sort_unstable();
    assert_eq!(states, ["archive", "draft", "open", "paid", "void"]);
    let read = json!({"path": "notes/plan.md", "action": "read"});
    let text = demo.call("manage_files", read).await["content"][0]["text"].clone();
    assert!(text.as_str().unwrap().starts_with("# Plan"), "{text}");

    let resources = demo.ask("resources/list", &json!({})).await;
    let uris = names(&resources["resources"], "uri");
    assert!(uris.contains(&"scratch:///") && uris.contains(&"db:///"), "{uris:?}");
    for (uri, told) in [("scratch:///readme.md", "# Scratch"), ("db:///invoices/2", "\"open\"")] {
        let read = demo.ask("resources/read", &json!({"uri": uri})).await;
        let text = read["contents"][0]["text"].as_str().unwrap();
        assert!(text.contains(told), "{uri}: {text}");
    }
    // The tree shows what the tools do.
    let changed = demo.done("update_invoice", json!({"id": "inv_2", "status": "draft"})).await;
    assert_eq!(changed["status"], "draft");
    let read = demo.ask("resources/read", &json!({"uri": "db:///invoices/2"})).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("\"draft\""), "{read}");
    demo.end().await;
}

#[tokio::test]
async fn retry_with_the_same_key_creates_one_invoice() {
    let machine = Machine::new("key");
    let demo = Demo::start(&machine, &[]).await;
    // As the demo itself suggests.
    let tip = demo.said.iter().find_map(|line| line.split_once("create_invoice customer_id="));
    let customer = tip.expect("a proposal").1.split(' ').next().unwrap();
    let charge = json!({"customer_id": customer, "amount_cents": 1999});
    let params = json!({
        "name": "create_invoice", "arguments": charge,
        "_meta": {"dev.candor/idempotencyKey": "demo-1"},
    });
    let first = demo.ask("tools/call", &params).await;
    let again = demo.ask("tools/call", &params).await;
    assert_eq!(first["structuredContent"]["invoice_id"], "inv_6", "{first}");
    assert_eq!(again["structuredContent"], first["structuredContent"]);
    let replayed = |answer: &Value| answer["_meta"]["dev.candor/idempotency"]["replayed"].clone();
    assert_eq!((replayed(&first), replayed(&again)), (false.into(), true.into()));
    let page = demo.done("list_invoices", json!({})).await;
    assert_eq!(page["invoices"].as_array().unwrap().len(), 6);
    demo.end().await;
}

#[tokio::test]
async fn create_invoice_has_one_effect_in_every_view() {
    let machine = Machine::new("one effect");
    let demo = Demo::start(&machine, &["--ask", "writes", "--hold", "0"]).await;
    let customer = "6f1c2a34-9d0b-4b7e-8c55-0a1b2c3d4e5f";
    let call = json!({"customer_id": customer, "amount_cents": 1999, "idempotency_key": "one"});
    let params = json!({"name": "create_invoice", "arguments": call});

    let evaluated = demo.ask("tools/annotations", &params).await;
    let effect = &evaluated["_meta"]["dev.candor/dynamic-annotations"]["summary"];
    assert!(effect.is_string(), "{evaluated}");
    let listed = demo.ask("tools/list", &json!({})).await;
    let listed = listed["tools"].as_array().unwrap().iter();
    let listed = listed.clone().find(|tool| tool["name"] == "create_invoice").unwrap();
    for (hint, value) in evaluated["annotations"].as_object().unwrap() {
        assert_eq!(&listed["annotations"][hint], value, "{hint}");
    }

    let rest = demo.operator("POST", "/tools/create_invoice/annotations", &call).await.json();
    assert_eq!(&rest["summary"], effect, "{rest}");
    let address = format!("http://{}/mcp", demo.address);
    let key = format!("customer_id={customer}");
    let words = ["explain", &address, "create_invoice", &key, "amount_cents=1999"];
    let words = [&words[..], &["idempotency_key=one", "--json"]].concat();
    let explained = output(&mut machine.candor(&words)).await;
    let explained: Value = serde_json::from_str(&explained.stdout[0]).unwrap();
    assert_eq!(&explained["result"]["effect"], effect, "{explained}");

    let waits = demo.ask("tools/call", &params).await;
    assert_eq!(waits["_meta"]["dev.candor/error"]["code"], "approval_required", "{waits}");
    let waiting = demo.operator("GET", "/approvals", &Value::Null).await.json();
    assert_eq!(&waiting[0]["request"]["effect"], effect, "{waiting}");
    assert_eq!(waiting[0]["request"]["annotations"], evaluated["annotations"], "{waiting}");
    let id = waiting[0]["id"].as_str().unwrap();
    let operation = demo.operator("GET", &format!("/history/{id}"), &Value::Null).await.json();
    assert_eq!(&operation["hints"], effect, "{operation}");
    demo.end().await;
}

#[tokio::test]
async fn declared_undo_matches_the_description() {
    let machine = Machine::new("undo");
    let demo = Demo::start(&machine, &[]).await;
    let listed = demo.ask("tools/list", &json!({})).await;
    for tool in listed["tools"].as_array().unwrap() {
        let text = tool["description"].as_str().unwrap_or_default();
        let path = format!("/tools/{}/annotations", tool["name"].as_str().unwrap());
        let undo = demo.operator("POST", &path, &json!({})).await.json()["undo"].take();
        let undo = undo.as_str();
        let says = ["opened again with `", "reverted with `", "reverted by calling `"];
        let named = says.iter().find_map(|says| text.split_once(says)?.1.split('`').next());
        assert_eq!(undo, named, "{text}");
    }
    demo.end().await;
}

#[tokio::test]
async fn call_reports_that_it_waits_for_the_lease_of_a_silent_server() {
    let machine = Machine::new("lease");
    let demo = Demo::start(&machine, &["--lease", "4s"]).await;
    let address = format!("http://{}/mcp", demo.address);
    let customer = "customer_id=550e8400-e29b-41d4-a716-446655440000";
    let words = ["call", &address, "create_invoice", customer, "amount_cents=1999", "--key", "k"];
    let first = output(&mut machine.candor(&words)).await;
    assert_eq!(first.status.code(), Some(0), "{:?}", first.stderr);
    // As if another server of this ledger had been killed while it ran the call.
    let ledger = rusqlite::Connection::open(demo.world.join("ledger.db")).unwrap();
    let now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
    let killed = format!(
        "UPDATE records SET state = 'dispatched', owner = zeroblob(16), round = 0, outcome = NULL, touched = {now}, \
         lapses = {now} + 4000"
    );
    ledger.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    ledger.execute_batch(&killed).unwrap();
    let again = output(&mut machine.candor(&words)).await;
    let told = again.stderr.join("\n");
    for part in [
        "The server that ran this call stopped responding. Waiting up to ",
        " s for its lease to end.",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(told.contains("Outcome unknown: "), "{told}");
    demo.end().await;
}

#[tokio::test]
async fn deletion_waits_for_approval() {
    let machine = Machine::new("asks");
    let demo = Demo::start(&machine, &["--hold", "0", "--operators-only"]).await;
    let delete = json!({"path": "notes/old.md", "action": "delete"});
    let waits = demo.call("manage_files", delete.clone()).await;
    assert_eq!(waits["_meta"]["dev.candor/error"]["code"], "approval_required", "{waits}");
    assert!(demo.has("notes/old.md"), "nothing runs before the approval");

    let waiting = demo.operator("GET", "/approvals", &Value::Null).await.json();
    assert_eq!(waiting[0]["request"]["arguments"], delete);
    let path = format!("/approvals/{}/approve", waiting[0]["id"].as_str().unwrap());
    demo.operator("POST", &path, &json!({"version": waiting[0]["version"]})).await;
    let done = demo.call("manage_files", delete).await;
    assert_ne!(done["isError"], true, "{done}");
    assert!(!demo.has("notes/old.md") && demo.has("notes/plan.md"));
    demo.end().await;
}

#[tokio::test]
async fn migration_requires_a_preview() {
    let machine = Machine::new("preview");
    let demo = Demo::start(&machine, &["--ask", "never"]).await;
    let refunds = json!({"migration_id": "refunds"});
    let refused = demo.call("execute_migration", refunds.clone()).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let shown = demo.call("preview_migration", refunds).await;
    let text = shown["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Would create tables: refunds"), "{shown}");
    demo.end().await;
}
