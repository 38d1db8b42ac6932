//! One client, six ways: of either era, over stdio, over HTTP, and by the endpoint in this process.

use std::time::Duration;

use candor_server::protocol::Era;
use candor_server::{RunningServer, Server};
use serde_json::{Value, json};

use crate::common::{CAPABILITIES_KEY, Events, SERVER_INFO_KEY, Session, Site, initialize, modern};
use crate::lines::{self, Client};

/// Shorter than every time limit of a server: silence is not the silence before one.
const SHORT: Duration = Duration::from_millis(10);

/// A client that is connected.
pub(crate) struct Peer<'a> {
    pub(crate) era: Era,
    pub(crate) engine: &'a RunningServer,
    way: Way<'a>,
    /// What it says that it can do.
    capabilities: Value,
    /// Numbers of its requests, over stdio.
    asked: u64,
    /// What it listens to, over HTTP.
    stream: Option<Events>,
    /// Its request to listen, over stdio.
    listening: Option<u64>,
}

enum Way<'a> {
    /// Over HTTP, every request for itself.
    Requests(&'a Site),
    /// Over HTTP, within a session.
    Session(Session<'a>),
    /// Over stdio, in either era.
    Lines(Client),
    /// It has hung up.
    Over,
}

/// Says which of the six it was that failed.
struct Here(Era, &'static str);

impl Drop for Here {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("this happened in the {:?} era, {}", self.0, self.1);
        }
    }
}

/// Runs a scenario in both eras and all ways, each time with a new server. The clock must be paused.
pub(crate) async fn everywhere(server: impl Fn() -> Server, scenario: impl AsyncFn(&mut Peer<'_>)) {
    everywhere_knowing(&json!({}), server, scenario).await;
}

/// The same for a client with these capabilities.
pub(crate) async fn everywhere_knowing(
    capabilities: &Value,
    server: impl Fn() -> Server,
    scenario: impl AsyncFn(&mut Peer<'_>),
) {
    for way in ["in this process", "over stdio", "over HTTP"] {
        // A paused clock runs on whenever bytes are on their way between sockets.
        let is_paused = way != "over HTTP";
        if !is_paused {
            tokio::time::resume();
        }
        for era in [Era::Legacy, Era::Modern] {
            let _here = Here(era, way);
            let site = Site::of(server());
            let site = if is_paused { site.in_process() } else { site };
            let mut peer = match way {
                "over stdio" => Peer::over_stdio(&site.engine, era, capabilities, 64 * 1024).await,
                _ => Peer::over_http(&site, era, capabilities).await,
            };
            scenario(&mut peer).await;
        }
        if !is_paused {
            tokio::time::pause();
        }
    }
}

impl<'a> Peer<'a> {
    pub(crate) async fn over_http(site: &'a Site, era: Era, capabilities: &Value) -> Self {
        let way = match era {
            Era::Legacy => Way::Session(Session::able(site, capabilities).await),
            Era::Modern => Way::Requests(site),
        };
        Self::new(era, &site.engine, way, capabilities)
    }

    /// Over pipes that hold this many bytes.
    pub(crate) async fn over_stdio(
        engine: &'a RunningServer,
        era: Era,
        capabilities: &Value,
        bytes: usize,
    ) -> Self {
        let mut client = Client::connect_through(engine, bytes);
        if era == Era::Legacy {
            let mut hello = lines::initialize("hello", "2025-11-25");
            hello["params"]["capabilities"] = capabilities.clone();
            client.ask(&hello).await;
            client.send(&lines::notification("notifications/initialized", &json!({}))).await;
        }
        Self::new(era, engine, Way::Lines(client), capabilities)
    }

    fn new(era: Era, engine: &'a RunningServer, way: Way<'a>, capabilities: &Value) -> Self {
        let capabilities = capabilities.clone();
        Self { era, engine, way, capabilities, asked: 0, stream: None, listening: None }
    }

    /// Parameters with what a modern client says of itself.
    fn introduced(&self, params: &Value) -> Value {
        let mut params = params.clone();
        params["_meta"][CAPABILITIES_KEY] = self.capabilities.clone();
        params
    }

    /// A request as a line, with a number of its own.
    fn line(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        match self.era {
            Era::Legacy => lines::request(self.asked, method, params),
            Era::Modern => {
                let mut request = lines::modern(self.asked, method, params);
                request["params"] = self.introduced(&request["params"]);
                request
            }
        }
    }

    /// Sends a request; gives the whole answer.
    async fn answer(&mut self, method: &str, params: &Value) -> Value {
        let introduced = self.introduced(params);
        let line = self.line(method, params);
        match &mut self.way {
            Way::Requests(site) => site.send(modern(method, &introduced)).await.json().await,
            Way::Session(session) => session.request(method, params).await.json().await,
            Way::Lines(client) => client.ask(&line).await,
            Way::Over => panic!("it has hung up"),
        }
    }

    /// The result of a request, without what the modern era adds to every one.
    pub(crate) async fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        let mut result = answer["result"].take();
        let added = ["resultType", "ttlMs", "cacheScope"];
        match self.era {
            Era::Legacy => assert!(added.iter().all(|key| result.get(key).is_none()), "{result}"),
            Era::Modern => {
                assert_eq!(result["resultType"], "complete", "{method}");
                let members = result.as_object_mut().unwrap();
                members.retain(|key, _| !added.contains(&key.as_str()));
                let meta = members["_meta"].as_object_mut().unwrap();
                meta.remove(SERVER_INFO_KEY).expect("who answers");
                if meta.is_empty() {
                    members.remove("_meta");
                }
            }
        }
        result
    }

    /// The error of a request, with this code.
    pub(crate) async fn error(&mut self, method: &str, params: &Value, code: i64) -> Value {
        let mut answer = self.answer(method, params).await;
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{answer}");
        answer["error"].take()
    }

    /// The code for a resource that is not there, by methods that the published protocol has.
    pub(crate) fn not_found(&self) -> i64 {
        match self.era {
            Era::Legacy => -32002,
            Era::Modern => -32602,
        }
    }

    /// What the server declares, however it is asked.
    pub(crate) async fn server_capabilities(&mut self) -> Value {
        if self.era == Era::Modern {
            return self.result("server/discover", &json!({})).await["capabilities"].take();
        }
        // A session has been told already; another is told the same.
        let mut told = match &self.way {
            Way::Session(session) => {
                session.site.send(initialize("2025-11-25", &json!({}))).await.result().await
            }
            _ => Client::connect(self.engine).initialize("2025-11-25").await,
        };
        told["capabilities"].take()
    }

    pub(crate) async fn metadata(&mut self, uri: &str) -> Value {
        self.result("resources/metadata", &json!({"uri": uri})).await["resource"].take()
    }

    pub(crate) async fn read(&mut self, uri: &str) -> Value {
        self.result("resources/read", &json!({"uri": uri})).await["contents"].take()
    }

    pub(crate) async fn list(&mut self) -> Value {
        self.result("resources/list", &json!({})).await["resources"].take()
    }

    pub(crate) async fn children(&mut self, uri: &str) -> Value {
        self.result("resources/list", &json!({"uri": uri})).await["resources"].take()
    }

    /// Begins to watch: one by one in the legacy era, together in the modern. Gives what the server agrees to.
    pub(crate) async fn watch(&mut self, uris: &[&str]) -> Vec<String> {
        if self.era == Era::Modern {
            let honoured = self.listen(&json!({"resourceSubscriptions": uris})).await;
            let honoured = honoured["resourceSubscriptions"].as_array().unwrap().iter();
            return honoured.map(|uri| uri.as_str().unwrap().to_owned()).collect();
        }
        let mut agreed = Vec::new();
        for uri in uris {
            let answer = self.answer("resources/subscribe", &json!({"uri": uri})).await;
            agreed.extend(answer.get("result").map(|_| (*uri).to_owned()));
        }
        self.open_stream().await;
        agreed
    }

    /// Wants to hear that the list of resources has changed.
    pub(crate) async fn listen_to_lists(&mut self) {
        match self.era {
            Era::Legacy => self.open_stream().await,
            Era::Modern => {
                let wanted = json!({"resourcesListChanged": true});
                assert_eq!(self.listen(&wanted).await, wanted);
            }
        }
    }

    /// The session's own stream, if it needs one.
    async fn open_stream(&mut self) {
        if let (Way::Session(session), None) = (&self.way, &self.stream) {
            let mut events = session.get(None).await.events();
            assert_eq!(events.next().await.unwrap().message, None, "the priming event");
            self.stream = Some(events);
        }
    }

    /// A modern subscription; gives what is honoured of it.
    async fn listen(&mut self, wanted: &Value) -> Value {
        let params = json!({"notifications": wanted});
        let introduced = self.introduced(&params);
        let line = self.line("subscriptions/listen", &params);
        match &mut self.way {
            Way::Requests(site) => {
                let call = modern("subscriptions/listen", &introduced);
                self.stream = Some(site.send(call).await.events());
            }
            Way::Lines(client) => client.send(&line).await,
            Way::Session(_) | Way::Over => unreachable!("nobody to listen to"),
        }
        self.listening = Some(self.asked);
        let mut said = self.next().await;
        assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
        said["params"]["notifications"].take()
    }

    /// The next message that nobody asked for.
    pub(crate) async fn next(&mut self) -> Value {
        match (&mut self.stream, &mut self.way) {
            (Some(events), _) => events.message().await,
            (None, Way::Lines(client)) => client.next().await,
            _ => panic!("nothing is listened to"),
        }
    }

    /// The resource that has changed, by the next notification.
    pub(crate) async fn hears(&mut self) -> String {
        let said = self.next().await;
        assert_eq!(said["method"], "notifications/resources/updated", "{said}");
        said["params"]["uri"].as_str().unwrap().to_owned()
    }

    /// The same, if it comes before everything stands still.
    pub(crate) async fn may_hear(&mut self, within: Duration) -> Option<String> {
        tokio::time::timeout(within, self.hears()).await.ok()
    }

    pub(crate) async fn hears_nothing(&mut self) {
        assert_eq!(self.may_hear(SHORT).await, None);
    }

    /// Watches no longer what it watched: one by one, or by ending the request.
    pub(crate) async fn unwatch(&mut self, uris: &[&str]) {
        if self.era == Era::Legacy {
            for uri in uris {
                let done = self.result("resources/unsubscribe", &json!({"uri": uri})).await;
                assert_eq!(done, json!({}));
            }
            return;
        }
        self.stream = None;
        if let (Way::Lines(client), Some(id)) = (&mut self.way, self.listening) {
            client.send(&lines::cancelled(id)).await;
        }
    }

    /// Hangs up: a session ends, a connection ends, whatever was open is dropped.
    pub(crate) async fn hang_up(&mut self) {
        match std::mem::replace(&mut self.way, Way::Over) {
            Way::Session(session) => session.delete().await.must_be_empty(204).await,
            Way::Lines(client) => {
                client.end().await;
            }
            Way::Requests(_) | Way::Over => {}
        }
        self.stream = None;
    }
}
