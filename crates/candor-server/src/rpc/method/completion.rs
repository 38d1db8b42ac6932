//! `completion/complete`.

use candor_engine::CompletionSubject;
use candor_protocol::json::{Number, Object};
use candor_protocol::names::method::COMPLETE;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CompleteParams, CompleteReference, CompleteResult, Completion};

use super::{DispatchResult, params};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::error::of_failure;
use crate::rpc::encode::list::complete;

/// The protocol's limit for proposals in one answer.
const MOST: usize = 100;

pub(crate) async fn propose(asked: Object, request: &RequestContext) -> DispatchResult {
    if !request.server.completes() {
        return Err(ErrorObject::method_not_found(COMPLETE));
    }
    let asked: CompleteParams = params(asked)?;
    let subject = subject(asked.reference)?;
    let decided = asked.context.and_then(|c| c.arguments).unwrap_or_default();
    let (argument, typed, peer) = (asked.argument.name, asked.argument.value, request.peer.clone());
    let values = request.view.complete(&subject, &argument, typed, decided, peer).await;
    let mut values = values.map_err(|failure| of_failure(failure, "", request.era()))?;
    let total = values.len();
    values.truncate(MOST);
    let mut completion = Completion::new(values);
    completion.total = Some(Number::from(total));
    completion.has_more = Some(total > MOST);
    Ok(complete(request, CompleteResult::new(completion)))
}

fn subject(reference: CompleteReference) -> Result<CompletionSubject, ErrorObject> {
    match (reference.kind.as_str(), reference.name, reference.uri) {
        ("ref/prompt", Some(name), _) => Ok(CompletionSubject::Prompt(name)),
        ("ref/resource", _, Some(uri)) => Ok(CompletionSubject::Template(uri)),
        _ => Err(ErrorObject::invalid_params(
            r#"Invalid params: /ref is {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}"#,
        )),
    }
}
