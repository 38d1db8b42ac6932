//! Resources: the tree, metadata, content.

use std::sync::Arc;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;
use crate::serve::Asked;

pub(crate) async fn list(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn metadata(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}

pub(crate) async fn content(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}
