//! What waits for a person, and what a person says.

use std::sync::Arc;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;
use crate::serve::Asked;

pub(crate) async fn list(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn events(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn one(_: &Arc<Inner>, _: &Asked, _id: &str) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn rules(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn revoke(_: &Arc<Inner>, _: &Asked, _id: &str) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn decide(
    _: &Arc<Inner>,
    _: &Asked,
    _id: &str,
    _: crate::route::Decided,
) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}
