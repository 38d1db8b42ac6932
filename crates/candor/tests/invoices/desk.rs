//! Where clients ask a server, several at once, over HTTP or through its pipes: and what they are told of a key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::oneshot;

use crate::http::try_post;
use crate::messages::{call, text};
use crate::process::Program;
use crate::shop::order;

/// Longer than any lease. Who has no answer by then never gets one.
const LONGEST: Duration = Duration::from_secs(50);

/// Cloning it is another client at the same server.
#[derive(Clone)]
pub(crate) enum Desk {
    Http { address: String, token: Option<String> },
    Stdio(Arc<Pipes>),
}

pub(crate) struct Pipes {
    stdin: tokio::sync::Mutex<ChildStdin>,
    /// Who waits for which answer; `None` when there will be no more answers.
    waiting: Arc<Waiting>,
}

type Waiting = Mutex<Option<HashMap<u64, oneshot::Sender<Value>>>>;

impl Desk {
    pub(crate) fn http(address: String) -> Self {
        Self::Http { address, token: None }
    }

    /// The same server, for another caller.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        match self {
            Self::Http { address, .. } => {
                Self::Http { address: address.clone(), token: Some(token.to_owned()) }
            }
            Self::Stdio(_) => panic!("over stdio there is one caller"),
        }
    }

    pub(crate) fn stdio(server: &mut Program) -> Self {
        let (stdin, mut stdout) = server.take_pipes();
        let waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        let told: Arc<Waiting> = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Some(line) = stdout.recv().await {
                // A line that its writer could not end is none.
                let Ok(answer) = serde_json::from_str::<Value>(&line) else { break };
                let waiting = &mut *told.lock().unwrap();
                let id = answer["id"].as_u64().unwrap_or_else(|| panic!("no answer: {line}"));
                if let Some(client) = waiting.as_mut().and_then(|waiting| waiting.remove(&id)) {
                    let _ = client.send(answer);
                }
            }
            *told.lock().unwrap() = None;
        });
        Self::Stdio(Arc::new(Pipes { stdin: tokio::sync::Mutex::new(stdin), waiting }))
    }

    /// Asks, and waits for the answer; none comes from a server that was killed.
    pub(crate) async fn try_call(&self, tool: &str, arguments: &Value) -> Option<Value> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let request = call(id, tool, arguments);
        let asking = async {
            match self {
                Self::Http { address, token } => {
                    let bearer = token.as_ref().map(|token| format!("Bearer {token}"));
                    let headers = bearer.as_deref().map(|bearer| ("Authorization", bearer));
                    let reply = try_post(address, &request, headers.as_slice()).await.ok()?;
                    let answer = reply.json();
                    let marked = mark(&answer)["replayed"] == true;
                    let header = reply.header("idempotent-replayed");
                    assert_eq!(header, marked.then_some("true"), "{reply:?}");
                    Some(answer)
                }
                Self::Stdio(pipes) => {
                    let (tell, told) = oneshot::channel();
                    pipes.waiting.lock().unwrap().as_mut()?.insert(id, tell);
                    let line = format!("{request}\n");
                    pipes.stdin.lock().await.write_all(line.as_bytes()).await.ok()?;
                    told.await.ok()
                }
            }
        };
        let answer = tokio::time::timeout(LONGEST, asking).await;
        answer.unwrap_or_else(|_| panic!("never answered: {request}"))
    }

    /// The same at a server that lives.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.try_call(tool, arguments).await.expect("the server answers")
    }

    /// Creates the invoice of this key, and asks again until something final is said of it; nothing is by a server that was
    /// killed.
    pub(crate) async fn settle(&self, key: &str) -> Option<Told> {
        loop {
            let answer = self.try_call("create_invoice", &order(key)).await?;
            match code(&answer) {
                None => return Some(Told::of(&answer, key)),
                Some("outcome_unknown") => return Some(Told::Unknown),
                // It runs; or the books were locked for too long, and nothing was done.
                Some("in_progress" | "busy") => tokio::time::sleep(Duration::from_millis(20)).await,
                // Whatever else there is to say, nobody here has given a reason for it.
                Some(_) => panic!("{key}: {answer}"),
            }
        }
    }
}

/// What a client is finally told of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// It was done, and this came of it: its content, whole, and the invoice in it.
    Done { id: String, result: String },
    /// Nobody knows.
    Unknown,
}

impl Told {
    fn of(answer: &Value, key: &str) -> Self {
        let mark = mark(answer);
        assert_eq!(mark["key"], key, "{answer}");
        assert!(mark["replayed"] == true || mark["recorded"] == true, "{answer}");
        let result = &answer["result"];
        let id = result["structuredContent"]["invoice_id"].as_str();
        let id = id.unwrap_or_else(|| panic!("no invoice: {answer}")).to_owned();
        assert!(text(answer).contains(&id), "{answer}");
        let result = format!("{} {}", result["content"], result["structuredContent"]);
        Self::Done { id, result }
    }
}

/// What is said of a call's record.
pub(crate) fn mark(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["dev.candor/idempotency"]
}

/// The code of a failure.
pub(crate) fn code(answer: &Value) -> Option<&str> {
    assert!(answer["result"].is_object(), "no result: {answer}");
    answer["result"]["_meta"]["dev.candor/error"]["code"].as_str()
}
