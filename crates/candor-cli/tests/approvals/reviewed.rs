//! What a review was worth: an approval is used before a grant, and history keeps who decided what about which arguments.

use serde_json::{Value, json};

use crate::ledger::{candor, told};
use crate::messages::{modern, text};
use crate::process::Program;
use crate::served::Served;

const NOTE: &str = "notes/a.txt";
const OTHER: &str = "notes/b.txt";

/// A host whose calls are answered at once, be they approved or not.
struct Host {
    program: Program,
    asked: u64,
}

impl Host {
    fn of(served: &Served, flags: &[&str]) -> Self {
        let flags = [&["--stdio", "--hold", "0"], flags].concat();
        Self { program: Program::start(&mut served.command(&flags)), asked: 0 }
    }

    async fn delete(&mut self, path: &str) -> Value {
        self.asked += 1;
        let arguments = json!({"action": "delete", "path": path});
        let params = json!({"name": "manage_files", "arguments": arguments});
        let mut call = modern(self.asked, "tools/call", &params);
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        self.program.ask(&call).await
    }
}

fn code(answer: &Value) -> &str {
    answer["result"]["_meta"]["dev.candor/error"]["code"].as_str().unwrap_or("none")
}

/// `candor history` with these words.
fn history(served: &Served, words: &[&str]) -> std::process::Command {
    let mut command = candor();
    command.arg("history").args(words).arg("--ledger").arg(served.ledger.named());
    command
}

fn operation(served: &Served, id: &str) -> Value {
    told(&mut history(served, &["show", id, "--json"])).json()
}

#[tokio::test]
async fn approval_is_used_up_before_a_grant() {
    let served = Served::new("reviewed, granted");
    let mut host = Host::of(&served, &[]);
    assert_eq!(code(&host.delete(NOTE).await), "approval_required");
    let id = served.waiting().await;
    let words = ["approve", "--by", "olga", "--for", "15m", "--under", "path=notes"];
    served.decide(&words, NOTE).await;
    assert_eq!(text(&host.delete(NOTE).await), "Deleted notes/a.txt");

    let done = operation(&served, &id);
    assert_eq!((&done["state"], &done["attempts"]), (&json!("succeeded"), &json!(1)), "{done}");
    assert_eq!(
        (&done["review"]["decision"], &done["review"]["by"]),
        (&json!("approved"), &json!("olga"))
    );
    let events: Vec<_> = done["timeline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["event"], &row["by"]))
        .collect();
    let (ask, start) = ((&json!("ask"), &Value::Null), (&json!("start"), &json!("olga")));
    assert_eq!(events[..3], [ask, (&json!("decide"), &json!("olga")), start], "{done}");

    // The next such call runs under the grant, and its audit row names it.
    served.write(NOTE, "again");
    assert_eq!(text(&host.delete(NOTE).await), "Deleted notes/a.txt");
    let rows = told(&mut history(&served, &["--rows", "--json", "--limit", "1"])).json();
    assert!(rows["note"].as_str().is_some_and(|note| note.contains("grant ")), "{rows}");
    assert_eq!(operation(&served, &id)["attempts"], 1, "the second call is another operation");
}

#[tokio::test]
async fn start_under_a_grant_closes_the_open_request() {
    let served = Served::new("reviewed, closed");
    let mut host = Host::of(&served, &[]);
    assert_eq!(code(&host.delete(OTHER).await), "approval_required");
    let open = served.waiting().await;
    assert_eq!(code(&host.delete(NOTE).await), "approval_required");
    let queue = served.queue();
    let other = queue.iter().find(|item| item["id"] != json!(open)).unwrap();
    let words = ["approve", "--by", "olga", "--for", "15m", "--under", "path=notes"];
    served.decide_on(&words, &other["id"].as_str().unwrap()[..12], NOTE);
    assert_eq!(text(&host.delete(OTHER).await), "Deleted notes/b.txt");
    assert_eq!(served.queue(), [Value::Null; 0]);
    let closed = operation(&served, &open);
    assert_eq!(
        (&closed["state"], &closed["review"]),
        (&json!("succeeded"), &Value::Null),
        "{closed}"
    );
    let start = &closed["timeline"][1];
    assert!(start["note"].as_str().is_some_and(|note| note.contains("of olga")), "{closed}");
}

#[tokio::test]
async fn denied_call_stays_denied_in_history_and_may_ask_again() {
    let served = Served::new("reviewed, denied");
    let mut host = Host::of(&served, &[]);
    assert_eq!(code(&host.delete(NOTE).await), "approval_required");
    let id = served.waiting().await;
    served.decide(&["deny", "--by", "olga", "--reason", "not on a Friday"], NOTE).await;
    assert_eq!(code(&host.delete(NOTE).await), "denied");
    // Ten minutes later. On a thread of its own: PostgreSQL's client brings a runtime.
    let earlier =
        "UPDATE records SET gated = gated - 660000, refuses_until = refuses_until - 660000";
    std::thread::scope(|scope| scope.spawn(|| served.ledger.change(earlier)).join().unwrap());

    let denied = operation(&served, &id);
    assert_eq!(denied["state"], "denied", "{denied}");
    let review = &denied["review"];
    assert_eq!((&review["by"], &review["reason"]), (&json!("olga"), &json!("not on a Friday")));
    assert_eq!(denied["arguments"], json!({"action": "delete", "path": NOTE}));
    let shown = told(&mut history(&served, &["show", &id]));
    for part in [
        "manage_files  Denied\n",
        "denied by olga, ",
        ": not on a Friday",
        "\"path\": \"notes/a.txt\"",
    ] {
        assert!(shown.text().contains(part), "{part} in {}", shown.stdout);
    }
    let listed = told(&mut history(&served, &["--state", "denied"]));
    assert!(listed.text().contains(&id[..8]), "{}", listed.stdout);

    assert_eq!(code(&host.delete(NOTE).await), "approval_required");
    let again = operation(&served, &id);
    assert_eq!(
        (&again["state"], &again["review"]["by"]),
        (&json!("approval_required"), &json!("olga"))
    );
    assert!(served.has(NOTE));
}

#[tokio::test]
async fn keep_arguments_flag_controls_the_arguments_in_history() {
    for (which, kept) in [("decided", true), ("none", false)] {
        let served = Served::new(&format!("reviewed, {which}"));
        let mut host = Host::of(&served, &["--keep-arguments", which]);
        assert_eq!(code(&host.delete(NOTE).await), "approval_required");
        let id = served.waiting().await;
        served.decide(&["approve"], NOTE).await;
        assert_eq!(text(&host.delete(NOTE).await), "Deleted notes/a.txt");
        let arguments = &operation(&served, &id)["arguments"];
        let expected = kept.then(|| json!({"action": "delete", "path": NOTE}));
        assert_eq!(*arguments, json!(expected), "{which}");
    }
}
