//! Settings of one server beyond its flags: what it prints when it is ready, and what stops it.

use std::fmt;
use std::net::SocketAddr;

use candor_server::BoxFuture;

use super::http::stop_signal;
use crate::Result;

/// What a server prints when it is ready, and what stops it; for [`Run::serve_with`](super::Run::serve_with).
#[derive(Default)]
#[must_use]
pub struct Serving {
    pub(super) about: Vec<String>,
    told: Option<Box<dyn FnOnce(SocketAddr) -> Vec<String> + Send>>,
    stop: Option<BoxFuture<'static, ()>>,
}

impl Serving {
    /// Adds lines that go to stderr when the server is ready, before the addresses.
    pub fn about(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.about.extend(lines);
        self
    }

    /// Adds lines that depend on the address on which an HTTP server listens. They are printed before its last line.
    pub fn telling(
        mut self,
        told: impl FnOnce(SocketAddr) -> Vec<String> + Send + 'static,
    ) -> Self {
        self.told = Some(Box::new(told));
        self
    }

    /// Serves until this future ends, and not until a stop signal: for programs that handle signals already ([`stop_signal`]).
    pub fn until(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.stop = Some(Box::pin(stop));
        self
    }

    pub(super) fn tell(&mut self, address: SocketAddr) -> Vec<String> {
        self.told.take().map(|told| told(address)).unwrap_or_default()
    }

    pub(super) fn stop(&mut self) -> Result<BoxFuture<'static, ()>> {
        match self.stop.take() {
            Some(stop) => Ok(stop),
            None => Ok(Box::pin(stop_signal()?)),
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving").field("about", &self.about).finish_non_exhaustive()
    }
}
