//! What is particular about one server beyond its flags: what it says when it is ready, and what ends it.

use std::fmt;
use std::net::SocketAddr;

use candor_server::BoxFuture;

use super::http::stop_signal;
use crate::Result;

/// What to say of a server when it is ready, and how long to serve it; for [`Run::serve_with`](super::Run::serve_with).
#[derive(Default)]
#[must_use]
pub struct Serving {
    pub(super) about: Vec<String>,
    told: Option<Box<dyn FnOnce(SocketAddr) -> Vec<String> + Send>>,
    stop: Option<BoxFuture<'static, ()>>,
}

impl Serving {
    /// Lines that go to stderr when the server is ready, before the addresses.
    pub fn about(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.about.extend(lines);
        self
    }

    /// More of them, for who has to know on which address a server over HTTP listens. They stand before its last line.
    pub fn telling(
        mut self,
        told: impl FnOnce(SocketAddr) -> Vec<String> + Send + 'static,
    ) -> Self {
        self.told = Some(Box::new(told));
        self
    }

    /// Serves until this ends, and not until a signal comes: for who listens to signals already ([`stop_signal`]).
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
