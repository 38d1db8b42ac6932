//! Runs Candor's client against a server that others wrote, from the connection to the end of the last process.
//!
//! ```text
//! candor-peers NAME legacy|modern FOLDER URL
//! candor-peers NAME legacy|modern FOLDER PROGRAM [ARGUMENT…]
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `main` | the checks, in order |
//! | `calls` | effects, confirmations, results and cancellation of calls |
//! | `reading` | resources, prompts, completion |
//! | `peer` | `peers.json`: the facts about each server |
//! | `process` | the remaining processes |
//! | `../../check` | one line and one time limit per check |

#![allow(clippy::print_stdout, reason = "what it checks is what it prints")]

mod calls;
#[path = "../../check.rs"]
mod check;
mod peer;
mod process;
mod reading;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_client::types::{Content, CreateMessageResult, Role, Root};
use candor_client::{Client, ClientLimits, Connect, ElicitReply, Era, Program, Trust};

use check::{Checked, check, holds};
use peer::{Peer, text, texts};

/// The model's answer to every question.
const ANSWER: &str = "a model's answer";

/// A server, how to connect to it, and its questions.
pub(crate) struct Stage {
    pub(crate) peer: Peer,
    /// The server's questions to the user and the model.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
    era: Era,
    /// The client is given the era, and does not detect it.
    told: bool,
    folder: String,
    place: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, era, folder, place @ ..] = words.as_slice() else {
        eprintln!("Usage: candor-peers NAME legacy|modern FOLDER URL|PROGRAM [ARGUMENT…]");
        std::process::exit(2);
    };
    let era = if era == "modern" { Era::Modern } else { Era::Legacy };
    let stage = Stage {
        peer: Peer::read(name, folder),
        asked: Arc::default(),
        era,
        // The client detects the era. If a server speaks both, the client detects the modern era, and is given the legacy era.
        told: era == Era::Legacy && ["python", "rmcp", "typescript"].contains(&name.as_str()),
        folder: folder.clone(),
        place: place.to_vec(),
    };
    let client = stage.arrive().await;

    calls::explain(&stage, &client).await;
    calls::ask(&stage, &client).await;
    calls::call(&stage, &client).await;
    calls::answer(&stage, &client).await;
    reading::resources(&stage, &client).await;
    reading::prompts(&stage, &client).await;
    calls::take_back(&stage, &client).await;
    stage.leave(client).await;
}

impl Stage {
    fn way(&self) -> Connect {
        match self.place.as_slice() {
            [url] if url.starts_with("http:") => Client::connect(url),
            [program, arguments @ ..] => {
                Client::start(Program::new(program).args(arguments.iter().cloned()))
            }
            [] => panic!("neither a URL nor a program was named"),
        }
    }

    /// Connects as a host that can answer every question.
    pub(crate) async fn connect(&self, trust: Trust) -> Checked<Client> {
        let (asked, form) = (self.asked.clone(), self.peer.form());
        let person = move |question: candor_client::Elicitation| {
            asked.lock().expect("no holder panics").push(question.message);
            let form = form.clone();
            async move { ElicitReply::Accept(form) }
        };
        let asked = self.asked.clone();
        let model = move |question: candor_client::types::CreateMessageParams| {
            let said = question.messages.iter().map(|message| message.content.text());
            asked.lock().expect("no holder panics").extend(said);
            async { Ok(CreateMessageResult::new(Role::Assistant, Content::text(ANSWER), "none")) }
        };
        let mut connect = self.way().trust(trust).on_elicit(person).on_sample(model);
        connect = connect.roots([Root::new(format!("file://{}", self.folder))]);
        // On a busy machine, a slow answer does not mean that the server is of the legacy era.
        let mut limits = ClientLimits::default();
        limits.probe = Duration::from_secs(15);
        connect = connect.limits(limits);
        if self.told {
            connect = connect.era(self.era);
        }
        Ok(connect.into_future().await?)
    }

    async fn arrive(&self) -> Client {
        let client = check("connects and identifies the server", async {
            let client = self.connect(Trust::Trusted).await?;
            holds(client.era() == self.era, format!("it speaks {}", client.revision().as_str()))?;
            let name = client.server().map(|server| server.name);
            holds(
                name.as_deref() == self.peer.get("is").map(text),
                format!("it is called {name:?}"),
            )?;
            client.ping().await?;
            Ok(client)
        })
        .await;
        check("lists the tools, all pages", async {
            let tools = client.tools().await?;
            let wanted = texts(self.peer.get("tools").expect("tools in peers.json"));
            for name in wanted {
                let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
                holds(tools.get(name).is_some(), format!("no {name} among {names:?}"))?;
            }
            holds(tools.left_out().is_empty(), format!("left out: {:?}", tools.left_out()))
        })
        .await;
        client
    }

    /// Closes the client, connects again, and checks that no process is left.
    async fn leave(&self, client: Client) {
        let program = !self.place[0].starts_with("http:");
        let started = process::descendants();
        check("closes, and leaves no process behind", async {
            let looks = Path::new("/proc").exists();
            holds(!program || !looks || !started.is_empty(), "it has started no program")?;
            client.close().await;
            process::must_be_gone(&started)
        })
        .await;
        check("connects again after it closed", async {
            calls::reads(self, &client).await?;
            client.close().await;
            Ok(())
        })
        .await;
        check("leaves no process behind if it is only dropped", async {
            let another = self.connect(Trust::Trusted).await?;
            let started = process::descendants();
            drop(another);
            process::gone(&started).await;
            Ok(())
        })
        .await;
    }
}
