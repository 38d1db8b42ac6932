//! How long a call is held for a person, and that who comes back finds the same question.

use serde_json::{Value, json};

use crate::http::{Events, open_session};
use crate::messages::{initialize, modern, request, text};
use crate::process::Program;
use crate::served::Served;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Legacy,
    Modern,
}

enum Way {
    Stdio,
    /// The address, and the session of the legacy era.
    Http(String, Option<String>),
}

/// A client that cannot ask its person.
struct Client {
    program: Program,
    way: Way,
    era: Era,
    asked: u64,
}

impl Client {
    async fn over_stdio(mut program: Program, era: Era) -> Self {
        if era == Era::Legacy {
            program.ask(&initialize(0)).await;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            program.write(&ready.to_string()).await;
        }
        Self { program, way: Way::Stdio, era, asked: 0 }
    }

    async fn over_http(mut program: Program, era: Era) -> Self {
        let address = program.listening().await;
        let session = match era {
            Era::Legacy => Some(open_session(&address, &initialize(0)).await),
            Era::Modern => None,
        };
        Self { program, way: Way::Http(address, session), era, asked: 0 }
    }

    async fn delete(&mut self, path: &str) -> Value {
        self.asked += 1;
        let arguments = json!({"action": "delete", "path": path});
        let params = json!({"name": "manage_files", "arguments": arguments});
        let call = match self.era {
            Era::Legacy => request(self.asked, "tools/call", &params),
            Era::Modern => {
                let mut call = modern(self.asked, "tools/call", &params);
                let meta = &mut call["params"]["_meta"];
                meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
                call
            }
        };
        match &self.way {
            Way::Stdio => self.program.ask(&call).await,
            Way::Http(address, Some(session)) => {
                Events::post_in(address, session, &call).await.answer(self.asked).await
            }
            Way::Http(address, None) => Events::post(address, &call).await.answer(self.asked).await,
        }
    }

    /// A call that must be told that it waits; under which operation.
    async fn waits(&mut self, path: &str) -> String {
        let answer = self.delete(path).await;
        let told = &answer["result"]["_meta"]["dev.candor/error"];
        assert_eq!(told["code"], "approval_required", "{answer}");
        let next = "Nothing was run. Once an operator approves it, repeat the call with the same arguments within 15 min.";
        assert!(text(&answer).contains(next), "{answer}");
        told["operation"].as_str().unwrap_or_else(|| panic!("no operation: {answer}")).to_owned()
    }
}

/// The whole story: told to wait, found again, approved, done once.
async fn found_again_and_done_once(served: &Served, mut client: Client) {
    let note = "notes/a.txt";
    let operation = client.waits(note).await;
    let queue = served.queue();
    assert_eq!(queue.len(), 1, "{queue:?}");
    assert!(queue[0]["id"].as_str().unwrap().starts_with(&operation), "{operation} {queue:?}");
    assert_eq!(client.waits(note).await, operation, "the same request");
    assert_eq!(served.queue(), queue, "there is no second request");
    assert_ne!(client.waits("notes/b.txt").await, operation, "another call is another request");
    assert_eq!(served.queue().len(), 2);

    served.decide_on(&["approve"], &operation, note);
    assert!(served.has(note), "an approval alone starts nothing");
    let done = client.delete(note).await;
    assert_ne!(done["result"]["isError"], true, "{done}");
    assert!(!served.has(note));
    // The approval was for one call.
    served.write(note, "new");
    client.waits(note).await;
    assert!(served.has(note) && served.has("notes/b.txt"));
}

/// The default is longer than this test waits, so any response proves that the flag works.
#[tokio::test]
async fn hold_flag_limits_the_wait_over_stdio() {
    for (hold, era) in [("0", Era::Legacy), ("40ms", Era::Modern)] {
        let served = Served::new(&format!("held, stdio, {era:?}"));
        let program = Program::start(&mut served.command(&["--stdio", "--hold", hold]));
        found_again_and_done_once(&served, Client::over_stdio(program, era).await).await;
    }
}

#[tokio::test]
async fn hold_flag_limits_the_wait_over_http() {
    for (hold, era) in [("40ms", Era::Legacy), ("0", Era::Modern)] {
        let served = Served::new(&format!("held, http, {era:?}"));
        let flags = ["--http", "127.0.0.1:0", "--hold", hold];
        let program = Program::start(&mut served.command(&flags));
        found_again_and_done_once(&served, Client::over_http(program, era).await).await;
    }
}

#[tokio::test]
async fn hold_variable_limits_the_wait() {
    let served = Served::new("held, variable");
    let program = Program::start(served.command(&["--stdio"]).env("CANDOR_HOLD", "0s"));
    Client::over_stdio(program, Era::Modern).await.waits("notes/a.txt").await;
}
