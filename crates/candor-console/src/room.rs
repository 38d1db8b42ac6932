//! Which requests take a place, so that no more is under way than the server allows, whichever way it comes.
//!
//! What the server is asked through the API takes one from the very room that its MCP endpoint takes from: otherwise whoever has
//! filled the one could go on through the other; and so do the pages that callers may look at. What pages load, logging in, and all
//! that an operator looks at and decides take none. When calls fill the room, somebody must still be able to see which, and to say
//! yes or no: calls that wait for a person keep their places until that is said.

use axum::body::HttpBody as _;
use axum::response::Response;
use candor_server::transport::http::{ResponseCapacity, Slot};
use http::header::ETAG;

use crate::Inner;
use crate::guard::ConsoleIdentity;
use crate::problem::Problem;
use crate::route::{Page, Resource, Route};

/// What a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A place among the requests that run.
    Request,
    /// The same, but nothing for an operator.
    RequestOfCaller,
    /// A place among the streams that wait for changes.
    Stream,
}

pub(crate) fn needs(route: &Route) -> Needs {
    match route {
        Route::Tools
        | Route::Tool(_)
        | Route::Verb(..)
        | Route::Resources(Resource::List | Resource::Metadata | Resource::Content)
        | Route::OpenApi
        // The one look at the ledger that may take long, and can wait.
        | Route::Export => Needs::Request,
        Route::Resources(Resource::Events) => Needs::Stream,
        Route::Home | Route::Page(Page::Tool(_) | Page::Resources | Page::Server) => {
            Needs::RequestOfCaller
        }
        Route::Session
        | Route::Asset(_)
        // Only operators come here.
        | Route::Page(Page::Approvals | Page::Approval(_) | Page::History | Page::Operation(_))
        | Route::Approvals
        // Has a bound of its own, and only operators come here.
        | Route::ApprovalEvents
        | Route::Approval(_)
        | Route::Decision(..)
        | Route::Grants
        | Route::Grant(_)
        | Route::History
        | Route::Operation(_)
        | Route::Resolve(_) => Needs::Nothing,
    }
}

/// The place of a request, if it needs one and there is one.
pub(crate) fn take(
    console: &Inner,
    visitor: &ConsoleIdentity,
    route: &Route,
) -> Result<Option<Slot>, Problem> {
    let of = console.shares.then_some(&visitor.principal);
    let taken = match needs(route) {
        Needs::Nothing => return Ok(None),
        Needs::RequestOfCaller if visitor.operator => return Ok(None),
        Needs::Request | Needs::RequestOfCaller => console.rooms.request(of),
        Needs::Stream => console.rooms.stream(of),
    };
    taken.map(Some).map_err(Problem::full)
}

/// Holds capacity for a response until it is read, if it is large and nobody else's. What has a tag is kept and sent to all who ask.
/// A stream of events keeps what it has: its last event is still to come.
pub(crate) fn of_answer(capacity: &ResponseCapacity, answer: &Response) -> Result<(), Problem> {
    let Some(bytes) = answer.body().size_hint().exact() else { return Ok(()) };
    let shared = answer.headers().contains_key(ETAG);
    let bytes = if shared { 0 } else { usize::try_from(bytes).unwrap_or(usize::MAX) };
    capacity.hold(bytes).map_err(|full| Problem::unheld(full, bytes))
}
