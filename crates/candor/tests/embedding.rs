//! `examples/embedding.rs`, the app of the guide: its routes over sockets, two replicas, and the shutdown.

#![allow(missing_docs)]

#[path = "../../../examples/embedding.rs"]
#[allow(dead_code)]
mod example;
#[path = "run/http.rs"]
mod http;
#[path = "run/messages.rs"]
mod messages;
#[path = "run/process.rs"]
mod process;

use std::collections::HashMap;
use std::path::PathBuf;

use candor::json;
use example::{Logins, Settings, Shop, Staff};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use http::{Reply, ask, mirrors, send_to};
use messages::{call, text};
use process::bounded;

const ADA: (&str, &str) = ("Authorization", "Bearer ada-token");
const BOB: (&str, &str) = ("Authorization", "Bearer bob-token");

/// The app at a socket, as `main` starts it.
struct Running {
    address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<bool>,
}

async fn start(ledger: &str, secret: &str, replica: &str, shop: Shop) -> Running {
    let staff = |team: &str, operator| Staff { team: team.to_owned(), operator };
    let logins = Logins(HashMap::from([
        ("ada-token".to_owned(), ("ada".to_owned(), staff("purchasing", true))),
        ("bob-token".to_owned(), ("bob".to_owned(), staff("support", false))),
    ]));
    let settings = Settings {
        ledger: ledger.to_owned(),
        secret: secret.to_owned(),
        public_url: None,
        replica: Some(replica.to_owned()),
    };
    let engine = example::engine(&settings, shop.clone(), logins).unwrap();
    let app = example::app(&settings, &engine, shop).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { drop(stopped.await) };
    let served =
        tokio::spawn(async move { example::serve(listener, app, engine, stopped).await.is_ok() });
    Running { address, stop, served }
}

impl Running {
    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        ask(&self.address, "GET", path, headers, "").await
    }

    async fn mcp(&self, message: &Value, caller: (&str, &str)) -> Reply {
        let headers = [mirrors(message).as_slice(), &[caller]].concat();
        ask(&self.address, "POST", "/assistant/mcp", &headers, &message.to_string()).await
    }
}

fn order(id: u64, pieces: u32) -> Value {
    call(id, "order", &json!({"item": "chairs", "pieces": pieces, "idempotency_key": "o-1"}))
}

#[tokio::test]
async fn guide_app_serves_itself_the_endpoint_and_the_console() {
    let shop = Shop::default();
    let app = start("memory:", &"ab".repeat(32), "a", shop).await;
    assert_eq!(app.get("/", &[]).await.body, "Welcome to the shop");
    let missing = app.get("/nothing", &[]).await;
    assert_eq!((missing.status, &*missing.body), (404, "The shop has no such page"));

    assert_eq!(app.mcp(&order(1, 4), ("X", "y")).await.status, 401);
    let ordered = app.mcp(&order(2, 4), ADA).await.json();
    assert_eq!(text(&ordered), "4 of chairs are ordered");
    assert_eq!(app.get("/orders", &[]).await.body, "4 of chairs\n");
    let refused = app.mcp(&order(3, 4), BOB).await.json();
    assert!(text(&refused).contains("Only the purchasing team"), "{refused}");

    for path in ["/admin", "/admin/", "/admin/ui/history", "/admin/ui/assets/console.css"] {
        let page = app.get(path, &[ADA, ("Accept", "text/html")]).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
    }
    assert_eq!(app.get("/admin/tools", &[]).await.status, 401);
    assert_eq!(app.get("/admin/history", &[BOB]).await.status, 403);
    let history = app.get("/admin/history", &[ADA]).await.json();
    assert!(history.to_string().contains("\"ada\""), "{history}");
}

#[tokio::test]
async fn guide_replicas_replay_and_finish_before_they_stop() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let ledger = folder.join(format!("embedding-{}.db", std::process::id()));
    let (url, secret) = (format!("sqlite:{}", ledger.display()), "cd".repeat(32));
    let shop = Shop::default();
    let a = start(&url, &secret, "a", shop.clone()).await;
    let b = start(&url, &secret, "b", shop).await;

    assert_eq!(text(&a.mcp(&order(1, 4), ADA).await.json()), "4 of chairs are ordered");
    let replayed = b.mcp(&order(2, 4), ADA).await.json();
    assert_eq!(text(&replayed), "4 of chairs are ordered");
    assert_eq!(b.get("/orders", &[]).await.body, "4 of chairs\n");

    // A stream that only the shutdown ends.
    let stream = send_to(&a.address, "GET", "/admin/approvals/events", &[ADA], "").await.unwrap();
    let mut stream = BufReader::new(stream);
    let mut opened = String::new();
    while !opened.contains("data: ") {
        let read = bounded("the stream opens", stream.read_line(&mut opened)).await.unwrap();
        assert!(read > 0, "{opened}");
    }
    a.mcp(&order(4, 4), ADA).await;
    a.stop.send(()).unwrap();
    assert!(bounded("the app ends", a.served).await.unwrap());
    drop(stream);
    assert_eq!(text(&b.mcp(&order(5, 4), ADA).await.json()), "4 of chairs are ordered");
    b.stop.send(()).unwrap();
    assert!(bounded("the app ends", b.served).await.unwrap());
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", ledger.display()));
    }
}

/// The code in the guide is the code that runs.
#[test]
fn guide_quotes_the_example() {
    let guide = include_str!("../../../docs/embedding.md");
    let example = include_str!("../../../examples/embedding.rs");
    let blocks = guide.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<_> = blocks.collect();
    assert!(blocks.len() >= 4);
    for block in blocks {
        assert!(example.contains(block), "examples/embedding.rs has not:\n{block}");
    }
}
