//! Serial calls over REST run in the order in which the server received them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_server::hints::Hints;
use candor_server::tool::{JsonTool, Tool, ToolError};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::site::{Site, server};

/// The calls in the order in which their handlers started.
#[derive(Clone, Default)]
struct Started(Arc<Mutex<Vec<u64>>>);

impl Started {
    fn tool(&self) -> Arc<dyn Tool> {
        let started = self.clone();
        let tool = JsonTool::open("post", move |args, _| {
            started.0.lock().unwrap().push(args["n"].as_u64().unwrap());
            async { Ok::<_, ToolError>("done") }
        });
        Arc::new(tool.hints(Hints::DELETES).serial("ledger"))
    }
}

/// A call that is sent in two pieces.
struct TwoPieces {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl TwoPieces {
    /// Sends the head and the first bytes of the body.
    async fn begin(site: &Site, n: u64) -> Self {
        let mut stream = TcpStream::connect(site.address().await).await.unwrap();
        let (token, body) = (&site.token, json!({"n": n}).to_string());
        let head = format!(
            "POST /tools/post/call HTTP/1.1\r\nhost: 127.0.0.1:7332\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let (first, rest) = body.as_bytes().split_at(3);
        stream.write_all(&[head.as_bytes(), first].concat()).await.unwrap();
        Self { stream, rest: rest.to_vec() }
    }

    async fn finish(mut self) -> String {
        self.stream.write_all(&self.rest).await.unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

#[tokio::test]
async fn call_with_a_late_body_keeps_its_order() {
    let started = Started::default();
    let site = Site::of(server().tools_from(vec![started.tool()]));
    let first = TwoPieces::begin(&site, 0).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    let second = async {
        site.post("/tools/post/call", json!({"n": 1})).await.ok();
    };
    let first = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(first.finish().await.contains("done"));
    };
    tokio::join!(second, first);
    assert_eq!(*started.0.lock().unwrap(), [0, 1]);
}

#[tokio::test]
async fn calls_keep_their_order_with_a_slow_tool_source() {
    let started = Started::default();
    let (tool, requests) = (started.tool(), Arc::new(AtomicUsize::new(0)));
    let source = move || {
        // The first call waits longest.
        let earlier = requests.fetch_add(1, Ordering::SeqCst).min(4);
        let tool = tool.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(10 * (4 - earlier) as u64)).await;
            vec![tool]
        }
    };
    let site = Site::of(server().tools_from(source));
    site.address().await;
    let calls = (0..4).map(|n| {
        let site = &site;
        async move {
            tokio::time::sleep(Duration::from_millis(2 * n)).await;
            site.post("/tools/post/call", json!({"n": n})).await.ok();
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(*started.0.lock().unwrap(), [0, 1, 2, 3]);
}
