//! The process that started the server. The server asks it line by line on stdout, and it answers on stdin.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use candor_server::auth::{Authenticator, Identity, Unauthorized};
use candor_server::protocol::Principal;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use http::request::Parts;
use serde_json::{Value, json};
use tokio::sync::oneshot;

type Pending = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

pub(crate) struct Owner {
    pending: Pending,
    last: AtomicU64,
}

impl Owner {
    /// Reads the owner's answers. If the owner ends, so does the server.
    pub(crate) fn start() -> Self {
        let pending = Pending::default();
        let answered = Arc::clone(&pending);
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                let answer: Value = serde_json::from_str(&line).unwrap_or_default();
                let id = answer["id"].as_u64().unwrap_or_default();
                let mut pending = answered.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(waits) = pending.remove(&id) {
                    waits.send(answer).ok();
                }
            }
            std::process::exit(0);
        });
        Self { pending, last: AtomicU64::new(0) }
    }

    pub(crate) async fn ask(&self, mut question: Value) -> Result<Value, String> {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        question["id"] = id.into();
        let (sender, answer) = oneshot::channel();
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        let line = format!("{question}\n");
        io::stdout().write_all(line.as_bytes()).map_err(|e| e.to_string())?;
        let mut answer = answer.await.map_err(|e| e.to_string())?;
        match answer["failure"].as_str() {
            Some(failure) => Err(failure.to_owned()),
            None => Ok(answer["answer"].take()),
        }
    }
}

impl Authenticator for Owner {
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        async {
            let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers: HashMap<_, _> =
                request.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
            match self.ask(json!({"ask": "admit", "headers": headers})).await {
                Ok(_) => Ok(Principal::new("admitted").into()),
                Err(_) => Err(Unauthorized { challenge: HeaderValue::from_static("Bearer") }),
            }
        }
        .boxed()
    }
}
