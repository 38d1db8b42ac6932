//! A request that passed the checks of its route, as handlers see it.

use std::sync::Arc;

use bytes::Bytes;
use candor_server::engine::SerialPosition;
use candor_server::transport::http::{ResponseCapacity, Slot};
use http::HeaderMap;
use http::header::ACCEPT;
use http::request::Parts;

use crate::access::ConsoleIdentity;

/// A request that passed all checks.
pub(crate) struct ConsoleRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) visitor: ConsoleIdentity,
    /// The path at which the router is mounted, without a slash at its end.
    pub(crate) base: String,
    /// The value of the placeholder in the path of its route. Empty if the path has none.
    pub(crate) param: String,
    /// The slot of a large body.
    pub(crate) room: Option<Arc<Slot>>,
    /// The capacity for the response, if the request holds a slot.
    pub(crate) response: Option<ResponseCapacity>,
    /// When a call arrived, for the order of serial calls.
    pub(crate) arrived: Option<Arc<SerialPosition>>,
}

impl ConsoleRequest {
    /// Returns the first value of a query parameter that is not empty.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        self.queries(name).into_iter().next()
    }

    /// Returns the value of a parameter that the server must not miss. The name matches in any case, and an empty value counts.
    pub(crate) fn given(&self, name: &str) -> Option<String> {
        let found = self.pairs().find(|(key, _)| decoded(key).eq_ignore_ascii_case(name));
        found.map(|(_, value)| decoded(value))
    }

    /// Returns all values of a parameter that may repeat, except empty ones.
    pub(crate) fn queries(&self, name: &str) -> Vec<String> {
        let values = self.pairs().filter(|(key, _)| decoded(key) == name);
        values.map(|(_, value)| decoded(value)).filter(|value| !value.is_empty()).collect()
    }

    /// Returns the names and values of the query, still encoded.
    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.parts.uri.query().unwrap_or_default().split('&');
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }
}

/// Decodes a part of a query or of a form.
pub(crate) fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

/// Returns true if the client accepts a media type by its name.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.any(|line| line.split(',').any(|one| one.split(';').next().unwrap_or("").trim() == kind))
}
