//! A gateway: forwards the tools of another server, with their questions and results, unchanged.
//!
//! ```console
//! $ cargo run --example gateway --features client -- --stdio -- npx -y @modelcontextprotocol/server-everything
//! ```
//!
//! It has no pipeline of its own: the other server's tools are tools of this server. So policy, approvals, idempotency keys and
//! history apply to them. A question of the other server goes to the caller whose call is running, in either era, and the running
//! call waits where it is for the answer.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use candor::client::{Client, Program};
use candor::prelude::*;
use candor::protocol::json::RawValue;
use candor::protocol::rpc::ErrorObject;
use candor::protocol::types::{InputRequest, Tool as Definition};
use candor::run::ServeArgs;
use candor::tool::{Effects, Invalid, Prepared, Tool};
use candor::{AskError, BoxFuture};
use clap::Parser;
use tokio::sync::{Mutex, mpsc, oneshot};

type Reply = Result<Box<RawValue>, ErrorObject>;

/// A question of the other server, and the way back.
type Question = (InputRequest, oneshot::Sender<Reply>);

/// The other server. A question does not name its call, so one call runs at a time: the one that holds the questions.
struct Upstream {
    client: Client,
    questions: Mutex<mpsc::Receiver<Question>>,
}

impl Upstream {
    async fn start(program: Program) -> Result<Self, candor::client::Error> {
        let (ask, questions) = mpsc::channel(1);
        let client = Client::start(program)
            .on_question(move |question| {
                let ask = ask.clone();
                async move { forward(&ask, question).await }
            })
            .await?;
        Ok(Self { client, questions: Mutex::new(questions) })
    }

    /// Calls a tool. While it runs, its questions go to the caller.
    async fn call(
        &self,
        name: String,
        arguments: Arguments,
        ctx: Ctx,
    ) -> Result<Output, ToolError> {
        let mut questions = self.questions.lock().await;
        // A question that came after the end of its call has no answer.
        while questions.try_recv().is_ok() {}
        let mut call = pin!(self.client.call(name, arguments.as_value().clone()).into_future());
        loop {
            tokio::select! {
                result = &mut call => {
                    let result = result.map_err(|error| ToolError::new(error.to_string()))?;
                    return Ok(result.raw().clone().into());
                }
                Some((question, reply)) = questions.recv() => {
                    let answers = ctx.relay([("question".to_owned(), question)].into()).await;
                    let _ = reply.send(only(answers));
                }
            }
        }
    }
}

/// Gives a question to the running call, and waits for the answer.
async fn forward(ask: &mpsc::Sender<Question>, question: InputRequest) -> Reply {
    let unanswered = || ErrorObject::internal("no call is running");
    let (reply, answer) = oneshot::channel();
    ask.send((question, reply)).await.map_err(|_| unanswered())?;
    answer.await.map_err(|_| unanswered())?
}

fn only(answers: Result<BTreeMap<String, Box<RawValue>>, AskError>) -> Reply {
    let answers = answers.map_err(|error| ErrorObject::internal(error.to_string()))?;
    answers.into_values().next().ok_or_else(|| ErrorObject::internal("there is no answer"))
}

/// A tool of the other server. Its definition is listed as it came.
struct ForwardedTool {
    definition: Definition,
    upstream: Arc<Upstream>,
}

struct ForwardedCall {
    name: String,
    arguments: Arguments,
    upstream: Arc<Upstream>,
}

impl Tool for ForwardedTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn effects(&self) -> Effects {
        Effects::of_annotations(&self.definition)
    }

    fn prepare(&self, arguments: Arguments) -> Result<Box<dyn Prepared>, Invalid> {
        let (name, upstream) = (self.definition.name.clone(), self.upstream.clone());
        Ok(Box::new(ForwardedCall { name, arguments, upstream }))
    }
}

impl Prepared for ForwardedCall {
    fn run(self: Box<Self>, ctx: Ctx) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move { self.upstream.call(self.name, self.arguments, ctx).await })
    }
}

#[derive(Parser)]
struct Options {
    #[command(flatten)]
    serve: ServeArgs,

    /// The program of the other server, and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

#[tokio::main]
async fn main() -> candor::Result<()> {
    let Options { serve, program } = Options::parse();
    let upstream = Upstream::start(Program::new(&program[0]).args(&program[1..]));
    let upstream = Arc::new(upstream.await?);
    let listed = upstream.client.tools().await?;
    let tools = listed.iter().map(|tool| {
        let (definition, upstream) = (tool.definition().clone(), upstream.clone());
        Arc::new(ForwardedTool { definition, upstream }) as Arc<dyn Tool>
    });
    let name = upstream.client.server().map_or("gateway".to_owned(), |server| server.name);
    Server::new(name, env!("CARGO_PKG_VERSION"))
        // Gateways to different programs share no keys.
        .instance(program.join(" "))
        .tools_from(tools.collect::<Vec<_>>())
        .serve(serve, &[])
        .await?;
    upstream.client.close().await;
    Ok(())
}
