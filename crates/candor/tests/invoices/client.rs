//! A client of either era that comes either way: what it is told must not depend on it.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor::auth::BearerTokens;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::desk::mark;
use crate::http::{Incoming, mirrors};
use crate::messages::request;
use crate::process::Program;
use crate::shop::{Shop, Way};

/// Who has no answer by then never gets one.
const LONGEST: Duration = Duration::from_secs(50);

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2025-11-25: a session, and questions as requests.
    Legacy,
    /// 2026-07-28: every request for itself, and questions as answers.
    Modern,
}

/// What sort of client it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) way: Way,
    pub(crate) era: Era,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [
        Self { way: Way::Stdio, era: Era::Legacy },
        Self { way: Way::Stdio, era: Era::Modern },
        Self { way: Way::Http, era: Era::Legacy },
        Self { way: Way::Http, era: Era::Modern },
    ];

    /// Those that come over HTTP.
    pub(crate) const HTTP: [Self; 2] = [Self::ALL[2], Self::ALL[3]];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Http => "http",
            Way::Stdio => "stdio",
        };
        let era = match self.era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        };
        write!(f, "{way}-{era}")
    }
}

/// Tells a story once for each kind of client, each with a server and a shop of its own.
pub(crate) async fn everywhere(name: &str, flags: &[&str], story: impl AsyncFn(&Shop, &Client)) {
    for kind in Kind::ALL {
        // Shown if it fails.
        eprintln!("{name}, {kind}");
        let shop = Shop::new(&format!("{name}-{kind}"));
        let (_server, client) = shop.client(kind, flags, Person::Nobody).await;
        story(&shop, &client).await;
    }
}

/// Who sits at the client and can be asked.
#[derive(Clone, Default)]
pub(crate) enum Person {
    /// Nobody: the client says that it cannot ask.
    #[default]
    Nobody,
    /// Somebody who is shown every question, and gives this answer.
    Says(Value, Arc<Shown>),
}

/// What a person was shown.
#[derive(Default)]
pub(crate) struct Shown {
    times: AtomicUsize,
    last: Mutex<(Value, String)>,
}

impl Shown {
    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }

    /// The last question: in the legacy era the id of its request, and what was to be read.
    pub(crate) fn last(&self) -> (Value, String) {
        self.last.lock().unwrap().clone()
    }
}

impl Person {
    fn with(answer: Value) -> (Self, Arc<Shown>) {
        let shown = Arc::<Shown>::default();
        (Self::Says(answer, Arc::clone(&shown)), shown)
    }

    /// Who says yes to everything.
    pub(crate) fn approving() -> (Self, Arc<Shown>) {
        Self::with(json!({"action": "accept", "content": {"decision": "approve"}}))
    }

    /// Who says no to everything.
    pub(crate) fn denying() -> (Self, Arc<Shown>) {
        Self::with(json!({"action": "accept", "content": {"decision": "deny"}}))
    }

    /// Who closes every window without an answer.
    pub(crate) fn leaving() -> (Self, Arc<Shown>) {
        Self::with(json!({"action": "cancel"}))
    }

    fn capabilities(&self) -> Value {
        match self {
            Self::Nobody => json!({}),
            Self::Says(..) => json!({"elicitation": {}}),
        }
    }

    fn answer(&self, question: &Value) -> Value {
        let Self::Says(answer, shown) = self else { panic!("nobody can be asked: {question}") };
        shown.times.fetch_add(1, Ordering::SeqCst);
        let message = question["params"]["message"].as_str().unwrap().to_owned();
        *shown.last.lock().unwrap() = (question["id"].clone(), message);
        answer.clone()
    }
}

/// A client of a server. Cloning it is the same client.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) kind: Kind,
    person: Person,
    link: Link,
}

#[derive(Clone)]
enum Link {
    Http { address: String, token: Option<String>, session: Option<String> },
    Stdio(Arc<Pipes>),
}

struct Pipes {
    stdin: tokio::sync::Mutex<ChildStdin>,
    /// Who waits for which answer.
    waiting: Mutex<HashMap<u64, UnboundedSender<Value>>>,
}

/// Whose person is asked over HTTP: the caller's own channel counts for callers that are somebody.
const TOKEN: &str = "t-token";

impl Shop {
    /// A server, and a client that is connected to it. One that has somebody to ask comes with a token where it comes over HTTP.
    pub(crate) async fn client(
        &self,
        kind: Kind,
        flags: &[&str],
        person: Person,
    ) -> (Program, Client) {
        let asks = matches!(person, Person::Says(..));
        if kind.way == Way::Stdio || !asks || flags.contains(&"--tokens") {
            return self.unnamed_client(kind, flags, person).await;
        }
        let tokens = self.file("tokens");
        fs::write(&tokens, BearerTokens::line("tester", TOKEN)).unwrap();
        let flags = [flags, &["--tokens", tokens.to_str().unwrap()]].concat();
        let (server, client) = self.unnamed_client(kind, &flags, person).await;
        (server, client.with_token(TOKEN).await)
    }

    /// The same without a token.
    pub(crate) async fn unnamed_client(
        &self,
        kind: Kind,
        flags: &[&str],
        person: Person,
    ) -> (Program, Client) {
        let mut command = self.command();
        match kind.way {
            Way::Http => command.args(["--http", "127.0.0.1:0"]),
            Way::Stdio => command.arg("--stdio"),
        };
        let mut server = Program::start(command.args(flags));
        let link = match kind.way {
            Way::Http => {
                Link::Http { address: server.listening().await, token: None, session: None }
            }
            Way::Stdio => Link::Stdio(Pipes::of(&mut server, person.clone())),
        };
        // Where tokens are wanted, nobody is let in without.
        let client = Client { kind, person, link };
        let client = if flags.contains(&"--tokens") { client } else { client.connected().await };
        (server, client)
    }
}

impl Pipes {
    fn of(server: &mut Program, person: Person) -> Arc<Self> {
        let (stdin, mut stdout) = server.take_pipes();
        let stdin = tokio::sync::Mutex::new(stdin);
        let pipes = Arc::new(Self { stdin, waiting: Mutex::default() });
        let reads = Arc::clone(&pipes);
        tokio::spawn(async move {
            while let Some(line) = stdout.recv().await {
                let message: Value = serde_json::from_str(&line).unwrap();
                match (message["method"].as_str(), message["id"].as_u64()) {
                    (None, Some(id)) => {
                        let client = reads.waiting.lock().unwrap().remove(&id);
                        client.map(|client| client.send(message));
                    }
                    (Some("elicitation/create"), _) => {
                        let said = person.answer(&message);
                        reads.write(&answer(&message["id"], &said)).await;
                    }
                    _ => {}
                }
            }
        });
        pipes
    }

    async fn write(&self, message: &Value) {
        let line = format!("{message}\n");
        self.stdin.lock().await.write_all(line.as_bytes()).await.expect("the server reads");
    }

    /// Sends a request; its answer comes here.
    async fn ask(&self, request: &Value) -> UnboundedReceiver<Value> {
        let (tell, told) = unbounded_channel();
        self.waiting.lock().unwrap().insert(request["id"].as_u64().unwrap(), tell);
        self.write(request).await;
        told
    }
}

fn answer(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Client {
    /// The same client as it comes for another caller; over HTTP, where tokens say who that is.
    pub(crate) async fn with_token(&self, token: &str) -> Self {
        let Link::Http { address, .. } = &self.link else {
            panic!("over stdio there is one caller")
        };
        let token = Some(token.to_owned());
        let link = Link::Http { address: address.clone(), token, session: None };
        Self { link, ..self.clone() }.connected().await
    }

    /// With a session, in the era that has them.
    async fn connected(mut self) -> Self {
        if self.kind.era == Era::Modern {
            return self;
        }
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": self.person.capabilities(),
            "clientInfo": {"name": "tester", "version": "1"},
        });
        let hello = request(next_id(), "initialize", &params);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = match &mut self.link {
            Link::Stdio(pipes) => {
                let told = pipes.ask(&hello).await.recv().await.unwrap();
                pipes.write(&ready).await;
                told
            }
            Link::Http { .. } => {
                let mut incoming = self.post(&hello, &[]).await;
                let told = incoming.next().await.unwrap();
                let id = incoming.header("mcp-session-id").expect("a session").to_owned();
                let Link::Http { session, .. } = &mut self.link else { unreachable!() };
                *session = Some(id);
                assert_eq!(self.post(&ready, &[]).await.status, 202);
                told
            }
        };
        assert_eq!(told["result"]["protocolVersion"], "2025-11-25", "{told}");
        self
    }

    /// Posts a message as this client does.
    async fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Incoming {
        let Link::Http { address, token, session } = &self.link else { panic!("over HTTP only") };
        let bearer = token.as_ref().map(|token| format!("Bearer {token}"));
        let mut all = headers.to_vec();
        all.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        match self.kind.era {
            Era::Legacy => all.extend(session.as_deref().map(|id| ("Mcp-Session-Id", id))),
            Era::Modern => all.extend(mirrors(message)),
        }
        Incoming::post(address, message, &all).await.expect("the server answers")
    }

    /// Sends a request and gives what is answered to it. In the legacy era the person is asked meanwhile.
    async fn ask(&self, method: &str, params: &Value) -> Value {
        let request = self.spoken(method, params);
        let asking = async {
            match &self.link {
                Link::Stdio(pipes) => pipes.ask(&request).await.recv().await.expect("an answer"),
                Link::Http { .. } => self.converse(&request, &[]).await.0,
            }
        };
        let answer = tokio::time::timeout(LONGEST, asking).await;
        answer.unwrap_or_else(|_| panic!("never answered: {request}"))
    }

    /// A request as it is written in this client's era.
    fn spoken(&self, method: &str, params: &Value) -> Value {
        let mut request = request(next_id(), method, params);
        if self.kind.era == Era::Modern {
            let meta = &mut request["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.person.capabilities();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "tester", "version": "1"});
        }
        request
    }

    /// What is answered to a request over HTTP, and what the header says of a repetition.
    async fn converse(&self, request: &Value, headers: &[(&str, &str)]) -> (Value, Option<String>) {
        let mut incoming = self.post(request, headers).await;
        while let Some(message) = incoming.next().await {
            match message["method"].as_str() {
                None => {
                    assert_eq!(message["id"], request["id"], "{message}");
                    let marked = mark(&message)["replayed"] == true;
                    let header = incoming.header("idempotent-replayed").map(str::to_owned);
                    // A stream may have begun before it was known; nothing ever says what is not so.
                    assert!(header.is_none() || marked, "{message}");
                    assert!(header.is_some() || !marked || incoming.is_stream(), "{message}");
                    return (message, header);
                }
                Some("elicitation/create") => {
                    let said = self.person.answer(&message);
                    assert_eq!(self.post(&answer(&message["id"], &said), &[]).await.status, 202);
                }
                Some(_) => {}
            }
        }
        panic!("no answer to {request}")
    }

    /// Answers a question of the server, whether or not there is one.
    pub(crate) async fn answer(&self, id: &Value, result: &Value) {
        let said = answer(id, result);
        match &self.link {
            Link::Stdio(pipes) => pipes.write(&said).await,
            Link::Http { .. } => drop(self.post(&said, &[]).await),
        }
    }

    /// Any request.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Value {
        self.ask(method, params).await
    }

    /// All tools, by name.
    pub(crate) async fn tools(&self) -> Value {
        let answer = self.request("tools/list", &json!({})).await;
        let tools = answer["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
    }

    /// Calls a tool once: what comes back may be a question.
    pub(crate) async fn call_once(&self, tool: &str, arguments: &Value, more: &Value) -> Value {
        let mut params = json!({"name": tool, "arguments": arguments});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.request("tools/call", &params).await
    }

    /// Calls a tool, with the person answering what is asked.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.call_with(tool, arguments, &json!({})).await
    }

    /// The same with further parameters.
    pub(crate) async fn call_with(&self, tool: &str, arguments: &Value, more: &Value) -> Value {
        let mut told = self.call_once(tool, arguments, more).await;
        while told["result"]["resultType"] == "input_required" {
            let mut back = more.clone();
            for (name, question) in told["result"]["inputRequests"].as_object().unwrap() {
                back["inputResponses"][name] = self.person.answer(question);
            }
            back["requestState"] = told["result"]["requestState"].clone();
            told = self.call_once(tool, arguments, &back).await;
        }
        told
    }

    /// Calls a tool with a key in a header, over HTTP. Gives what the header of a repetition says, too.
    pub(crate) async fn call_keyed(
        &self,
        tool: &str,
        arguments: &Value,
        key: &str,
    ) -> (Value, Option<String>) {
        let params = json!({"name": tool, "arguments": arguments});
        let request = self.spoken("tools/call", &params);
        self.converse(&request, &[("Idempotency-Key", key)]).await
    }
}
