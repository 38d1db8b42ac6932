//! A client for the official conformance suite, which starts it with the URL of a server; see `cargo xtask conformance`.
//!
//! It uses everything that the server offers once: it calls every tool, reads every resource, and fills in every prompt. The suite
//! judges what is sent. A refusal by the server is not a failure here, nor are made-up arguments that are invalid. An unreadable
//! answer is a failure, and so is a missing one.

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
        // An empty form: each field with a default gets it.
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

/// Calls all tools at once: the data of one call must not leak into another.
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
            // Send the arguments unchanged, even if they are invalid.
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

/// Prints an answer or a refusal of the server, and returns any other error.
fn said(what: &str, outcome: Result<impl std::fmt::Debug, Error>) -> Result<(), Error> {
    match outcome {
        Ok(answer) => println!("{what}: {answer:?}"),
        Err(Error::Server(error)) => println!("{what}: no: {}", error.message),
        Err(Error::InvalidArguments(invalid)) => println!("{what}: not called: {invalid}"),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Returns the calls that the suite asks for, if any.
fn ordered() -> Vec<(String, Value)> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let calls = context["toolCalls"].as_array().into_iter().flatten();
    calls
        .filter_map(|call| Some((call["name"].as_str()?.to_owned(), call["arguments"].clone())))
        .collect()
}

/// Returns arguments of the right type for everything that a tool requires.
fn arguments(tool: &KnownTool, tools: &Tools) -> Value {
    // The suite checks that another tool's schema arrives unchanged.
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
