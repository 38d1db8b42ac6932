//! `bench-load WHAT AMOUNT MODE…`: starts a server, puts it under load, prints one line of JSON, stops it.

#![allow(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::process::ExitCode;
use std::time::Duration;

use candor_bench::load::{Outcome, Scenario, client, http, pin_load, start, stdio};
use serde_json::{Value, json};

const USAGE: &str = "\
Usage: bench-load WHAT AMOUNT MODE…

  modern | modern-progress | read | replay | legacy | session | session-progress | list | annotations
                      HTTP requests until the server has used AMOUNT milliseconds of CPU
  client-candor | client-candor-legacy | client-rmcp | client-rmcp-legacy
                      HTTP calls by a whole client until it has used AMOUNT milliseconds of CPU itself
  stdio-sequential | stdio-awake | stdio-pipelined
                      AMOUNT calls over pipes: one by one, the same on a core that is kept awake, or many at once
  start               the time to the first answer; AMOUNT is not used
  register | check | foresee
                      registering typed tools, checking arguments, evaluating effects; AMOUNT is not used
  folder | folder-bare
                      listing a folder of files through an endpoint, or by the standard library; AMOUNT is not used
  ledger | ledger-bare
                      keyed calls through a ledger, many at once, or a transaction for each transition; AMOUNT is not used
  idle                memory after the first answer; AMOUNT is not used

MODE… is what `bench-server`, which stands beside this program, is started with.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Outcome<Value> {
    let [what, amount, mode @ ..] = words else { return Err(USAGE.into()) };
    let amount: u64 = amount.parse().map_err(|_| USAGE)?;
    // Before there is a second thread: all that come later go where this one is.
    // Not where what is measured has a thread of its own.
    let pinned = !what.starts_with("ledger") && pin_load();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = match what.as_str() {
        "stdio-sequential" => stdio::sequential(amount, mode)?,
        "stdio-awake" => stdio::awake(amount, mode)?,
        "stdio-pipelined" => stdio::pipelined(amount, mode)?,
        "start" => runtime.block_on(start::first_answer(mode))?,
        "register" => candor_bench::typed::register()?,
        "foresee" => candor_bench::typed::foresee(),
        "check" => candor_bench::typed::check()?,
        "folder" => runtime.block_on(candor_bench::folder::listed())?,
        "folder-bare" => candor_bench::folder::bare()?,
        "ledger" => runtime.block_on(candor_bench::ledger::together())?,
        "ledger-bare" => candor_bench::ledger::bare()?,
        "idle" => runtime.block_on(start::idle(mode))?,
        name if name.starts_with("client-") => {
            let cpu = Duration::from_millis(amount);
            runtime.block_on(client::run(name, cpu, mode))?.ok_or(USAGE)?
        }
        name => {
            let scenario = Scenario::of(name).ok_or(USAGE)?;
            runtime.block_on(http::run(scenario, Duration::from_millis(amount), mode))?
        }
    };
    figures["pinned"] = json!(pinned);
    Ok(figures)
}
