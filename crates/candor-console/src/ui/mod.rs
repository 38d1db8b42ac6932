//! Pages for people: a file for each.

pub(crate) mod approvals;
pub(crate) mod assets;
pub(crate) mod history;
pub(crate) mod resources;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod tools;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;

/// Why there is no page.
pub(crate) fn problem(_: &Inner, _base: &str, problem: &Problem) -> Response {
    let _ = problem;
    Response::default()
}
