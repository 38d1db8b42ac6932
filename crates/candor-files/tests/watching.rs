//! Changes as clients hear of them, by the real operating system and in both eras. Nothing here asserts how fast: it is
//! waited for as long as a busy machine may need, and silence is listened to for longer than news wait.
#![cfg(unix)]

mod common;

#[allow(dead_code, reason = "one connection for all test files")]
#[path = "watching/ear.rs"]
mod ear;
#[path = "watching/files.rs"]
mod files;
#[path = "watching/folders.rs"]
mod folders;
#[path = "watching/lists.rs"]
mod lists;

use candor_files::Directory;
use candor_server::protocol::Era;
use candor_server::{RunningServer, Server};
use common::Scratch;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

fn directory(scratch: &Scratch) -> Directory {
    Directory::open(scratch.inside("")).unwrap().at("docs:///")
}

fn engine(scratch: &Scratch) -> RunningServer {
    Server::new("files", "1.0.0").resources(directory(scratch)).build().unwrap()
}
