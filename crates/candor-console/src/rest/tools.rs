//! `GET /tools`, `GET /tools/{name}` and what can be done with a tool.

use std::sync::Arc;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;
use crate::route::Verb;
use crate::serve::Asked;

/// Lists that were written before.
#[derive(Debug, Default)]
pub(crate) struct Lists;

pub(crate) async fn list(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn one(_: &Arc<Inner>, _: &Asked, _name: &str) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn act(
    _: &Arc<Inner>,
    _: &Asked,
    _name: &str,
    _verb: Verb,
) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}
