//! Who decides is shown what the call would do, and the yes holds for what was shown.

use std::fs::{self, File};

use serde_json::{Value, json};

use crate::ledger::told;
use crate::messages::{modern, text};
use crate::process::Program;
use crate::served::Served;

const NOTE: &str = "notes/a.txt";
const DELETE: &str = "Delete notes/a.txt (4 bytes, text). It cannot be undone.";

struct Host {
    program: Program,
    asked: u64,
}

impl Host {
    /// Who calls is told at once that it must wait.
    fn of(served: &Served) -> Self {
        let program = Program::start(&mut served.command(&["--stdio", "--hold", "0"]));
        Self { program, asked: 0 }
    }

    async fn call(&mut self, tool: &str, arguments: Value, capabilities: Value) -> Value {
        self.asked += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let mut call = modern(self.asked, "tools/call", &params);
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        self.program.ask(&call).await
    }

    /// A call from a client that cannot ask its person.
    async fn manage(&mut self, arguments: Value) -> Value {
        self.call("manage_files", arguments, json!({})).await
    }
}

fn waits(answer: &Value) {
    let code = &answer["result"]["_meta"]["dev.candor/error"]["code"];
    assert_eq!(code, "approval_required", "{answer}");
}

#[tokio::test]
async fn every_approval_channel_shows_the_preview() {
    let served = Served::new("previewed");
    let mut host = Host::of(&served);
    waits(&host.manage(json!({"action": "delete", "path": NOTE})).await);
    let [item] = &served.queue()[..] else { panic!("one waits") };
    assert_eq!(item["request"]["preview"], DELETE);
    let id = item["id"].as_str().unwrap();
    let shown = told(&mut served.approvals(&["show", &id[..8]]));
    assert!(shown.text().contains(DELETE), "{}", shown.stdout);
    // The user of the client sees the same.
    let asked = json!({"action": "delete", "path": NOTE});
    let asked = host.call("manage_files", asked, json!({"elicitation": {}})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(asked.to_string().contains(DELETE), "{asked}");
    // The other destructive tool.
    let over = json!({"action": "move_over", "from": NOTE, "to": "notes/b.txt"});
    waits(&host.call("move_files", over, json!({})).await);
    let words = "Move notes/a.txt (4 bytes) over notes/b.txt (4 bytes); the current content of notes/b.txt is lost.";
    assert!(served.queue().iter().any(|item| item["request"]["preview"] == words));
    assert!(served.has(NOTE));
}

#[tokio::test]
async fn preview_of_a_replace_shows_old_and_new_lines() {
    let served = Served::new("previewed, replaced");
    let mut host = Host::of(&served);
    served.write(NOTE, "first\nold \u{1b}[2J\nlast\n");
    let content = "first\nnew\n";
    waits(&host.manage(json!({"action": "replace", "path": NOTE, "content": content})).await);
    let [item] = &served.queue()[..] else { panic!("one waits") };
    let preview = "Replace notes/a.txt (20 bytes) with 10 bytes; its current content is lost.\n\n  \
                   (1 line is the same)\n- old \\u{1b}[2J\n- last\n+ new";
    assert_eq!(item["request"]["preview"], preview);
}

#[tokio::test]
async fn approval_is_stale_once_the_file_changes() {
    let served = Served::new("previewed, changed");
    let mut host = Host::of(&served);
    let delete = || json!({"action": "delete", "path": NOTE});
    waits(&host.manage(delete()).await);
    served.decide(&["approve"], DELETE).await;
    served.write(NOTE, "what somebody has written meanwhile");
    waits(&host.manage(delete()).await);
    assert!(served.has(NOTE), "the approval covered the earlier content");
    let now = "Delete notes/a.txt (35 bytes, text). It cannot be undone.";
    served.decide(&["approve"], now).await;
    let done = host.manage(delete()).await;
    assert_eq!(text(&done), "Deleted notes/a.txt");
    assert!(!served.has(NOTE));
}

/// `cp -p`, `rsync -t` and `tar x` write other bytes and set the old time.
#[tokio::test]
async fn approval_is_stale_if_the_bytes_change_but_not_the_file_time() {
    for (name, approved) in [("notes/a.txt", "text"), ("notes/plain", "text")] {
        for replaced in [false, true] {
            let served = Served::new(&format!("previewed, same time {name} {replaced}"));
            let path = served.folder().join(name);
            served.write(name, "kept");
            let mut host = Host::of(&served);
            let delete = || json!({"action": "delete", "path": name});
            waits(&host.manage(delete()).await);
            let shown = format!("Delete {name} (4 bytes, {approved}). It cannot be undone.");
            served.decide(&["approve"], &shown).await;

            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            let written = if replaced { served.beside("other") } else { path.clone() };
            fs::write(&written, "lost").unwrap();
            File::options().write(true).open(&written).unwrap().set_modified(modified).unwrap();
            fs::rename(&written, &path).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), modified);

            waits(&host.manage(delete()).await);
            assert_eq!(fs::read_to_string(&path).unwrap(), "lost");
            let [item] = &served.queue()[..] else { panic!("the operator is asked again") };
            assert_eq!(item["request"]["preview"], shown);
        }
    }
}
