//! The tools of the servers that are tested.

use std::sync::Arc;

use candor_server::tool::{IntoOutput, JsonTool, ToolError};
use candor_server::{Ctx, Elicit, Server};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::client::bounded;

/// A server that greets; a test adds what it is about.
pub(crate) fn server() -> Server {
    Server::new("test", "1.0.0").tool(tool("greet", |_| async { Ok("Hello!") }))
}

/// A tool without arguments.
pub(crate) fn tool<F, R, O>(name: &str, handler: F) -> JsonTool
where
    F: Fn(Ctx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    O: IntoOutput,
{
    JsonTool::new(name, &json!({"type": "object"}), move |_, ctx| handler(ctx))
}

/// Asks for a name, and greets whoever has it.
pub(crate) fn ask_name() -> JsonTool {
    let form =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    tool("ask_name", move |ctx| {
        let question = Elicit::form("Who are you?", &form).key("who");
        async move {
            let answer = ctx.elicit(question).await?;
            Ok(match answer.accepted() {
                Some(content) => format!("Hello, {}!", content["name"].as_str().unwrap_or("?")),
                None => "Hello, stranger!".to_owned(),
            })
        }
    })
}

/// A tool that waits until it is let go.
#[derive(Clone)]
pub(crate) struct Gate {
    began: Arc<Semaphore>,
    open: Arc<Semaphore>,
    ended: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let closed = || Arc::new(Semaphore::new(0));
        Self { began: closed(), open: closed(), ended: closed() }
    }

    /// The tool, named `wait`.
    pub(crate) fn tool(&self) -> JsonTool {
        let gate = self.clone();
        tool("wait", move |_| {
            let gate = gate.clone();
            async move {
                let _ending = Ending(gate.ended.clone());
                gate.began.add_permits(1);
                take(&gate.open).await;
                Ok("Let go.")
            }
        })
    }

    /// Waits until one more call has begun.
    pub(crate) async fn began(&self) {
        bounded("a call begins", take(&self.began)).await;
    }

    /// Lets one call go.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }

    /// Waits until one more call has ended, be it that it was dropped.
    pub(crate) async fn ended(&self) {
        bounded("a call ends", take(&self.ended)).await;
    }
}

struct Ending(Arc<Semaphore>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

async fn take(signal: &Semaphore) {
    signal.acquire().await.unwrap().forget();
}
