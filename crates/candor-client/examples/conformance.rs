//! A client for the official conformance suite, which starts it with the URL of a server; see `cargo xtask conformance`.
//!
//! It finds out what the server is, and does once all that it offers: calls every tool, reads every resource, fills in every
//! prompt. What is sent is the suite's to judge. A server that says no is no mistake here, nor are made-up arguments that do not fit;
//! an answer that cannot be read, or none at all, is one.

#![allow(clippy::print_stdout, reason = "the suite keeps what it says")]

use std::env;
use std::process::ExitCode;

use candor_client::types::{Content, CreateMessageResult, Role, Root};
use candor_client::{Client, ElicitReply, Error, KnownTool, Tools, Trust};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = env::args().next_back().filter(|url| url.starts_with("http")) else {
        eprintln!("Usage: conformance URL");
        return ExitCode::from(2);
    };
    match visit(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn visit(url: &str) -> Result<(), Error> {
    let client = Client::connect(url)
        .named("candor-conformance", env!("CARGO_PKG_VERSION"))
        .trust(Trust::Trusted)
        .parallel_writes()
        .roots([Root::new("file:///conformance")])
        // An empty form: what has a default gets it.
        .on_elicit(|asked| async move {
            println!("asked: {}", asked.message);
            ElicitReply::Accept(Map::new())
        })
        .on_sample(|asked| async move {
            println!("the model is asked: {}", asked.messages.len());
            let answer = Content::text("An answer.");
            Ok(CreateMessageResult::new(Role::Assistant, answer, "none"))
        })
        .await?;
    println!("speaks {}", client.revision().as_str());

    let can = client.capabilities();
    if can.tools.is_some() {
        call_tools(&client).await?;
    } else {
        client.ping().await?;
    }
    if can.resources.is_some() {
        for resource in client.resources().await? {
            said(&resource.uri, client.read(&resource.uri).await.map(|c| c.all().len()))?;
        }
    }
    if can.prompts.is_some() {
        for prompt in client.prompts().await? {
            let filled = client.prompt(&prompt.name, []).await;
            said(&prompt.name, filled.map(|filled| filled.messages.len()))?;
        }
    }
    client.close().await;
    Ok(())
}

/// All at once: what belongs to one call must not get into another.
async fn call_tools(client: &Client) -> Result<(), Error> {
    let tools = client.tools().await?;
    for left_out in tools.left_out() {
        println!("left out {}: {}", left_out.name, left_out.reason);
    }
    let ordered = ordered();
    let calls: Vec<(String, Value)> = match ordered.is_empty() {
        false => ordered.clone(),
        true => {
            let all = tools.iter();
            all.map(|tool| (tool.name().to_owned(), arguments(tool, &tools))).collect()
        }
    };
    let results = join_all(calls.into_iter().map(async |(name, arguments)| {
        let result = match ordered.is_empty() {
            // To the letter, even if the arguments do not fit.
            false => client.call(&name, arguments).await,
            true => client.call_safely(&name, arguments).confirm(|_| async { true }).await,
        };
        (name, result)
    }));
    for (name, result) in results.await {
        said(&name, result.map(|result| result.text()))?;
    }
    Ok(())
}

/// Passes on what is wrong with an answer, but not that the server says no.
fn said(what: &str, outcome: Result<impl std::fmt::Debug, Error>) -> Result<(), Error> {
    match outcome {
        Ok(answer) => println!("{what}: {answer:?}"),
        Err(Error::Server(error)) => println!("{what}: no: {}", error.message),
        Err(Error::InvalidArguments(invalid)) => println!("{what}: not called: {invalid}"),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The calls that the suite wants, where it does.
fn ordered() -> Vec<(String, Value)> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let calls = context["toolCalls"].as_array().into_iter().flatten();
    calls
        .filter_map(|call| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone())))
        .collect()
}

/// Something of the right type for all that a tool needs.
fn arguments(tool: &KnownTool, tools: &Tools) -> Value {
    // The suite wants to see what has become of another tool's schema on its way.
    if tool.name() == "json_schema_echo"
        && let Some(other) = tools.iter().find(|other| other.name() != tool.name())
    {
        return json!({ "schema": other.input_schema() });
    }
    let schema = tool.input_schema();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let of_type = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("integer" | "number") => json!(7),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        _ => json!("seven"),
    };
    required.map(|name| (name.to_owned(), of_type(name))).collect::<Map<_, _>>().into()
}
