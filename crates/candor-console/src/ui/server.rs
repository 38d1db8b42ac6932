//! The server: what it can do, who is connected, how hosts reach it.

use std::sync::Arc;

use axum::response::Response;

use crate::Inner;
use crate::problem::Problem;
use crate::serve::Asked;

pub(crate) async fn page(_: &Arc<Inner>, _: &Asked) -> Result<Response, Problem> {
    Err(Problem::no_such_path())
}
