//! Clients, measured themselves: what a call costs whoever makes it.

use std::fs;
use std::time::{Duration, Instant};

use candor_client::{Client, Era, Trust};
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};

use super::Outcome;
use super::server::{Server, cpu_of};
use crate::message::{ECHO_READ, MARK, arguments};

/// Calls under way at once.
const AT_ONCE: usize = 16;

/// Before anything is measured.
const WARM_UP: usize = 2_000;

/// How many calls are made between looks at the clock.
const LOOK: usize = 500;

/// Whose client.
enum Caller {
    Candor(Client),
    Rmcp(RunningService<RoleClient, ()>),
}

impl Caller {
    async fn call(&self) -> Outcome<()> {
        let answer = match self {
            Self::Candor(client) => client.call(ECHO_READ, arguments()).await?.text(),
            Self::Rmcp(client) => {
                let call = json!({"name": ECHO_READ, "arguments": arguments()});
                let result = client.call_tool(serde_json::from_value(call)?).await?;
                let text = result.content.first().and_then(|block| block.as_text());
                text.map(|block| block.text.clone()).unwrap_or_default()
            }
        };
        // What comes back is looked at: a fast error is not an answer.
        if answer.contains(MARK) { Ok(()) } else { Err(format!("a wrong answer: {answer}").into()) }
    }

    /// So many calls, some at once.
    async fn calls(&self, number: usize) -> Outcome<()> {
        let one_after_another = (0..AT_ONCE).map(|_| async {
            for _ in 0..number / AT_ONCE {
                self.call().await?;
            }
            Outcome::Ok(())
        });
        futures_util::future::try_join_all(one_after_another).await.map(|_| ())
    }
}

/// Makes calls with a client until it has used so much CPU.
pub async fn run(name: &str, cpu: Duration, mode: &[String]) -> Outcome<Option<Value>> {
    let server = Server::start_http(mode)?;
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let rmcp = async |lifecycle| {
        let http = StreamableHttpClientTransport::from_uri(url.as_str());
        Outcome::Ok(Caller::Rmcp(().serve_with_lifecycle(http, lifecycle).await?))
    };
    let candor = async |era| {
        let connect = Client::connect(&url).trust(Trust::Trusted).era(era);
        Outcome::Ok(Caller::Candor(connect.await?))
    };
    let caller = match name {
        "client-candor" => candor(Era::Modern).await?,
        "client-candor-legacy" => candor(Era::Legacy).await?,
        "client-rmcp" => {
            let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
            rmcp(ClientLifecycleMode::Auto { preferred_versions, legacy_version: None }).await?
        }
        "client-rmcp-legacy" => rmcp(ClientLifecycleMode::Initialize).await?,
        _ => return Ok(None),
    };
    caller.calls(WARM_UP).await?;
    let own = || cpu_of(&fs::read_to_string("/proc/self/stat")?);
    let (start, before) = (Instant::now(), own()?);
    let mut calls = 0;
    while own()? - before < cpu {
        caller.calls(LOOK).await?;
        calls += LOOK / AT_ONCE * AT_ONCE;
    }
    let (took, used) = (start.elapsed(), own()? - before);
    Ok(Some(json!({
        "cpu_us": used.as_secs_f64() * 1e6 / calls as f64,
        "calls": calls,
        "per_second": calls as f64 / took.as_secs_f64(),
    })))
}
