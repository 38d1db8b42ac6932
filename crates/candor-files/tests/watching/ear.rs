//! A client that listens: over a pipe in memory, in either era, with the real clock.

use std::time::Duration;

use candor_server::RunningServer;
use candor_server::protocol::{Era, Principal};
use candor_server::transport::stdio;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// Long enough for a machine that is busy with other things.
const LONG: Duration = Duration::from_secs(20);

/// Longer than news wait to be told, so that what was done before is over.
const SILENCE: Duration = Duration::from_millis(600);

const UPDATED: &str = "notifications/resources/updated";
const LIST_CHANGED: &str = "notifications/resources/list_changed";

pub(crate) struct Ear {
    era: Era,
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    /// A line that has begun.
    line: Vec<u8>,
    serving: JoinHandle<std::io::Result<()>>,
    asked: u64,
    listening: Option<u64>,
    /// Heard while waiting for an answer.
    waiting: Vec<Value>,
}

impl Ear {
    pub(crate) async fn new(engine: &RunningServer, era: Era) -> Self {
        Self::through(engine, era, 64 * 1024).await
    }

    /// A connection whose pipes hold this many bytes.
    pub(crate) async fn through(engine: &RunningServer, era: Era, bytes: usize) -> Self {
        let (input, server_input) = duplex(64 * 1024);
        let (output, server_output) = duplex(bytes);
        let engine = engine.clone();
        let serving = tokio::spawn(async move {
            stdio::serve(&engine, Principal::new("tester"), server_input, server_output).await
        });
        let (output, line, waiting) = (BufReader::new(output), Vec::new(), Vec::new());
        let mut ear =
            Self { era, input, output, line, serving, asked: 0, listening: None, waiting };
        if era == Era::Legacy {
            let client = json!({"name": "ear", "version": "1"});
            let hello =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
            ear.ask("initialize", hello).await;
            ear.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        ear
    }

    /// A client that watches these; gives what the server agrees to.
    pub(crate) async fn listening(
        engine: &RunningServer,
        era: Era,
        uris: &[&str],
    ) -> (Self, Vec<String>) {
        let mut ear = Self::new(engine, era).await;
        let agreed = ear.watch(uris).await;
        (ear, agreed)
    }

    /// Begins to watch, and to hear of the list.
    pub(crate) async fn watch(&mut self, uris: &[&str]) -> Vec<String> {
        if self.era == Era::Legacy {
            let mut agreed = Vec::new();
            for uri in uris {
                let answer = self.ask("resources/subscribe", json!({"uri": uri})).await;
                agreed.extend(answer.get("result").map(|_| (*uri).to_owned()));
            }
            return agreed;
        }
        let wanted = json!({"resourceSubscriptions": uris, "resourcesListChanged": true});
        let line = self.request("subscriptions/listen", json!({"notifications": wanted}));
        self.listening = Some(self.asked);
        self.say(&line).await;
        loop {
            let said = self.hear().await;
            if said["method"] == "notifications/subscriptions/acknowledged" {
                let agreed = said["params"]["notifications"]["resourceSubscriptions"].as_array();
                let agreed = agreed.unwrap().iter();
                return agreed.map(|uri| uri.as_str().unwrap().to_owned()).collect();
            }
            self.waiting.push(said);
        }
    }

    /// Watches these no more: in the modern era, nothing at all.
    pub(crate) async fn unwatch(&mut self, uris: &[&str]) {
        match self.listening.take() {
            Some(id) => {
                let params = json!({"requestId": id});
                self.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                    .await;
            }
            None => {
                for uri in uris {
                    self.ask("resources/unsubscribe", json!({"uri": uri})).await;
                }
            }
        }
    }

    /// The connection ends.
    pub(crate) async fn hang_up(self) {
        let Self { input, output, serving, .. } = self;
        drop((input, output));
        let ended = tokio::time::timeout(LONG, serving).await.expect("serving ends");
        let _ = ended.unwrap();
    }

    /// Waits until this resource is said to have changed; whatever else is said before is let pass.
    pub(crate) async fn hears(&mut self, uri: &str) {
        while self.next_uri().await != uri {}
    }

    /// The next resource that is said to have changed.
    pub(crate) async fn next_uri(&mut self) -> String {
        loop {
            let said = self.next().await;
            if said["method"] == UPDATED {
                return said["params"]["uri"].as_str().unwrap().to_owned();
            }
        }
    }

    /// The same, if there is one before this time has passed.
    pub(crate) async fn next_uri_within(&mut self, time: Duration) -> Option<String> {
        tokio::time::timeout(time, self.next_uri()).await.ok()
    }

    /// Waits until the list is said to have changed.
    pub(crate) async fn hears_of_the_list(&mut self) {
        while self.next().await["method"] != LIST_CHANGED {}
    }

    /// Listens until nothing more comes; gives the resources that were said to have changed meanwhile.
    pub(crate) async fn in_silence(&mut self) -> Vec<String> {
        let said = self.all_for(SILENCE).await;
        let updated = said.iter().filter(|said| said["method"] == UPDATED);
        updated.map(|said| said["params"]["uri"].as_str().unwrap().to_owned()).collect()
    }

    /// Listens until nothing has come for this long; gives how often the list was said to have changed.
    pub(crate) async fn of_the_list_for(&mut self, time: Duration) -> usize {
        let said = self.all_for(time).await;
        said.iter().filter(|said| said["method"] == LIST_CHANGED).count()
    }

    async fn all_for(&mut self, time: Duration) -> Vec<Value> {
        let mut all = Vec::new();
        while let Ok(said) = tokio::time::timeout(time, self.next()).await {
            all.push(said);
        }
        all
    }

    async fn next(&mut self) -> Value {
        if self.waiting.is_empty() {
            return self.hear().await;
        }
        self.waiting.remove(0)
    }

    /// A line. May be dropped while it waits, and goes on where it was.
    async fn hear(&mut self) -> Value {
        let heard = self.output.read_until(b'\n', &mut self.line);
        let heard = tokio::time::timeout(LONG, heard).await;
        heard.expect("the server says something").unwrap();
        assert_eq!(self.line.last(), Some(&b'\n'), "the output has ended");
        serde_json::from_slice(&std::mem::take(&mut self.line)).unwrap()
    }

    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = self.request(method, params);
        self.say(&request).await;
        loop {
            let said = self.hear().await;
            if said["id"] == request["id"] {
                return said;
            }
            self.waiting.push(said);
        }
    }

    async fn say(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}
