//! What waits for a person.

use std::sync::Arc;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;
use crate::serve::Asked;

pub(crate) async fn page(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn one(_: &Arc<Inner>, _: &Asked, _id: &str) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}
