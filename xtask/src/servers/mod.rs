//! `cargo xtask servers`: runs our client against servers that others wrote.
//!
//! The program `candor-peers` (`clients/candor`) checks each server in every era that the server speaks. Over stdio,
//! the program starts the server. Over HTTP, this module starts it. The program checks by itself. This module installs
//! and starts everything, and limits the time.
//!
//! | file | subject |
//! |---|---|
//! | `peer` | the servers, and how to install and start each |

mod peer;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::checks;
use crate::example_server::Server;
use crate::process::{self, Outcome};
use crate::workspace::Workspace;
use peer::{PEERS, Peer, Ready};

/// The program limits each of its checks to twenty seconds. This limit is for a program that hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Which servers to test. The default: all.
#[derive(Default)]
pub(crate) struct Selection {
    only: Option<&'static Peer>,
}

impl Selection {
    pub(crate) fn from_options(options: &[&str]) -> Outcome<Self> {
        match options {
            [] => Ok(Self::default()),
            ["--only", name] => {
                let known = PEERS.iter().find(|peer| peer.name == *name);
                let names = PEERS.each_ref().map(|peer| peer.name).join(", ");
                let unknown = || format!("`{name}` is no server here; there are {names}");
                Ok(Self { only: Some(known.ok_or_else(unknown)?) })
            }
            [option, ..] => Err(format!("servers has no option `{option}`, or it needs a value")),
        }
    }
}

pub(crate) fn run(at: &Workspace, selection: &Selection) -> Outcome {
    let place = at.target.join("servers");
    let client = process::timed("our client (debug build)", || build(at))?;
    let mut failed = Vec::new();
    let chosen = |peer: &&Peer| selection.only.is_none_or(|only| only.name == peer.name);
    for peer in PEERS.iter().filter(chosen) {
        failed.extend(visit(at, peer, &client, &place)?);
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Our client does not get on with: {}. To repeat one of them alone:\n\n    \
         cargo xtask servers --only NAME\n",
        failed.join(", ")
    ))
}

/// Builds the program and our servers, with the features of the whole workspace, so that cargo reuses the build of the tests.
fn build(at: &Workspace) -> Outcome<PathBuf> {
    let mut build = Command::new("cargo");
    build.args(["build", "--workspace", "--all-features", "--bin", "candor-peers"]);
    build.args(["--bin", "rmcp-peer", "--example", "everything"]);
    process::quietly(&mut build, &at.log("peers-build"))?;
    Ok(program(at, "candor-peers"))
}

fn program(at: &Workspace, name: &str) -> PathBuf {
    at.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Tests one server in each era and over each transport. Returns the names of the failed runs.
fn visit(at: &Workspace, peer: &Peer, client: &Path, place: &Path) -> Outcome<Vec<String>> {
    let folder = place.join("folders").join(peer.name);
    fs::create_dir_all(&folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
    let ready = (peer.ready)(at, place, &folder)?;
    let mut failed = Vec::new();
    let mut go = |transport: &str, era: &str, server: &[String]| {
        let name = format!("{}-{era}-{transport}", peer.name);
        print!("── {}, {era} era, {transport} … ", peer.name);
        io::stdout().flush().ok();
        let start = Instant::now();
        let mut command = Command::new(client);
        command.args([peer.name, era]).arg(&folder).args(server).envs(ready.settings.clone());
        let outcome = refill(&folder)
            .and_then(|()| checks::run(&mut command, &place.join(format!("{name}.log")), PATIENCE));
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Ok(checks) => println!("{} checks in {seconds:.1} s", checks.len()),
            Err(message) => {
                println!("failed after {seconds:.1} s\n{message}");
                failed.push(name);
            }
        }
    };
    for era in peer.stdio {
        go("stdio", era, &ready.stdio);
    }
    if !peer.http.is_empty() {
        let log = place.join(format!("server-{}.log", peer.name));
        let mut server = Server::run(&mut listening(&ready), ready.says, &log)?;
        for era in peer.http {
            go("http", era, &[server.url()]);
        }
        server.must_still_run()?;
    }
    Ok(failed)
}

fn listening(ready: &Ready) -> Command {
    let mut command = Command::new(&ready.http[0]);
    command.args(&ready.http[1..]).envs(ready.settings.clone());
    command
}

/// Resets the folder that servers may see: before each run, it has one file in it.
fn refill(folder: &Path) -> Outcome {
    fs::remove_dir_all(folder)
        .and_then(|()| fs::create_dir_all(folder))
        .and_then(|()| fs::write(folder.join("note.txt"), "a note\n"))
        .map_err(|e| format!("cannot fill {}: {e}", folder.display()))
}
