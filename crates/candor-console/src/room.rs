//! Which requests take a slot, so that the server's limits hold for the console and the MCP endpoint together.
//!
//! API requests take slots from the same capacity as the MCP endpoint. Otherwise a caller that has used up one could continue
//! through the other. Pages that callers may see take slots too. Assets, logins, approvals, history, and an operator's pages take
//! none, except the export of the history. If calls use all slots, an operator must still be able to see and decide them: calls
//! that wait for approval keep their slots until then.

use axum::body::HttpBody as _;
use axum::response::Response;
use candor_server::transport::http::{ResponseCapacity, Slot};

use crate::Inner;
use crate::guard::ConsoleIdentity;
use crate::problem::Problem;
use crate::route::{Page, Resource, Route};

/// The capacity that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A slot among the running requests.
    Request,
    /// A request slot, except for an operator.
    RequestOfCaller,
    /// A slot among the streams that wait for changes.
    Stream,
}

pub(crate) fn needs(route: &Route) -> Needs {
    match route {
        Route::Tools
        | Route::Tool(_)
        | Route::Verb(..)
        | Route::Resources(Resource::List | Resource::Metadata | Resource::Content)
        | Route::OpenApi
        // The only ledger query that may take long, and it can wait.
        | Route::Export => Needs::Request,
        Route::Resources(Resource::Events) => Needs::Stream,
        Route::Home | Route::Page(Page::Tool(_) | Page::Resources | Page::Server) => {
            Needs::RequestOfCaller
        }
        Route::Session
        | Route::Asset(_)
        // Only operators have access.
        | Route::Page(Page::Approvals | Page::Approval(_) | Page::History | Page::Operation(_))
        | Route::Approvals
        // This has its own limit, and only operators have access.
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

/// Takes the slot that a request needs. Returns `None` if it needs none.
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

/// Marks a response whose body is in memory once for all clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedBody;

/// Holds capacity for a large response until the client has read it. A shared body needs none: another client that reads it slowly
/// takes no more memory. A stream of events keeps what it has: its last event is still to come.
pub(crate) fn of_answer(capacity: &ResponseCapacity, answer: &Response) -> Result<(), Problem> {
    let Some(bytes) = answer.body().size_hint().exact() else { return Ok(()) };
    let shared = answer.extensions().get::<SharedBody>().is_some();
    let bytes = if shared { 0 } else { usize::try_from(bytes).unwrap_or(usize::MAX) };
    capacity.hold(bytes).map_err(|full| Problem::unheld(full, bytes))
}
