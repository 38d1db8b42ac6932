//! `prompts/list`, `prompts/get`.

use candor_engine::Reply;
use candor_protocol::json::Object;
use candor_protocol::names::method::{PROMPTS_GET, PROMPTS_LIST};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::GetPromptParams;

use super::{DispatchResult, params, resume};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::call::ask;
use crate::rpc::encode::error::of_failure;
use crate::rpc::encode::list::{complete, page};
use crate::rpc::encode::resource::Publisher;

pub(crate) async fn list(asked: Object, request: &RequestContext) -> DispatchResult {
    if request.server.prompts_may_change().is_none() {
        return Err(ErrorObject::method_not_found(PROMPTS_LIST));
    }
    let prompts = request.view.prompts().await.map_err(|e| of_failure(e, "", request.era()))?;
    let listed: Vec<_> = prompts.definitions().collect();
    page(request, PROMPTS_LIST, "prompts", &params(asked)?, &listed)
}

pub(crate) async fn get(asked: Object, request: &RequestContext) -> DispatchResult {
    if request.server.prompts_may_change().is_none() {
        return Err(ErrorObject::method_not_found(PROMPTS_GET));
    }
    let asked: GetPromptParams = params(asked)?;
    let resume = resume(asked.input_responses.as_deref(), asked.request_state, &asked.extra)?;
    let arguments = asked.arguments.unwrap_or_default();
    let reply = request.view.prompt(&asked.name, arguments, &resume, request.peer.clone()).await;
    match reply.map_err(|failure| of_failure(failure, "", request.era()))? {
        Reply::Done(mut result) => {
            let blocks = result.messages.iter_mut().map(|message| &mut message.content);
            Publisher::to(request.client()).blocks(blocks);
            Ok(complete(request, result))
        }
        Reply::Questions(questions) => Ok(ask(request, questions)),
    }
}
