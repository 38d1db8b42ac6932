//! The programs under test: the example server, and a program that uses the client.

use std::path::{Path, PathBuf};

use super::requirements::Side;
use crate::example_server::{self, Server};
use crate::process::{self, Outcome};
use crate::workspace::Workspace;

/// Both programs. The first run that needs one builds it.
pub(super) struct Subjects<'a> {
    at: &'a Workspace,
    place: &'a Path,
    server: Option<Server>,
    client: Option<PathBuf>,
}

impl<'a> Subjects<'a> {
    pub(super) fn new(at: &'a Workspace, place: &'a Path) -> Self {
        Self { at, place, server: None, client: None }
    }

    pub(super) fn ready(&mut self, side: Side) -> Outcome {
        match side {
            Side::Server if self.server.is_none() => {
                let program = self.built("example server", "everything")?;
                let log = self.place.join("server.log");
                self.server = Some(Server::start(&program, &[], &log)?);
            }
            Side::Client if self.client.is_none() => {
                self.client = Some(self.built("client", "conformance")?);
            }
            _ => {}
        }
        Ok(())
    }

    fn built(&self, what: &str, example: &str) -> Outcome<PathBuf> {
        process::timed(&format!("{what} (debug build)"), || example_server::build(self.at, example))
    }

    pub(super) fn url(&self) -> Outcome<String> {
        self.server.as_ref().map(Server::url).ok_or_else(|| "no server was started".to_owned())
    }

    /// Returns the client's folder, and the command that starts it there.
    pub(super) fn client(&self) -> Outcome<(&Path, &str)> {
        let program = self.client.as_deref().ok_or("no client was built")?;
        let folder = program.parent().ok_or("the client stands in no folder")?;
        let name = if cfg!(windows) { ".\\conformance.exe" } else { "./conformance" };
        Ok((folder, name))
    }

    /// Fails if a server was started and has ended.
    pub(super) fn must_still_run(&mut self) -> Outcome {
        self.server.as_mut().map_or(Ok(()), Server::must_still_run)
    }
}
