//! Maps a method's name to the file that answers it, and does nothing else.

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;

use super::context::RequestContext;
use super::encode::answer::Answer;
use super::method::{completion, lifecycle, listen, prompts, resources, tools};
use super::named;

/// Answers a request by its method. A method exists in one era or both, and only if the server offers its subject.
pub(super) async fn dispatch(name: &str, params: Object, request: &RequestContext) -> Answer {
    let answered = match (name, request.era()) {
        (method::TOOLS_CALL, _) => tools::call(params, request).await,
        (method::TOOLS_ANNOTATIONS, _) => tools::annotations(params, request).await,
        (method::TOOLS_RESOLVE, _) => tools::resolve(params, request).await,
        (method::TOOLS_LIST, _) => tools::list(params, request).await,
        (method::RESOURCES_LIST, _) => resources::list(params, request).await,
        (method::RESOURCES_METADATA, _) => resources::metadata(params, request).await,
        (method::DIRECTORY_READ, _) => resources::directory(params, request).await,
        (method::SKILLS_LIST, _) => resources::skills(request),
        (method::SKILLS_GET, _) => resources::skill(params, request),
        (method::RESOURCES_TEMPLATES_LIST, _) => resources::templates(params, request).await,
        (method::RESOURCES_READ, _) => resources::read(params, request).await,
        (method::PROMPTS_LIST, _) => prompts::list(params, request).await,
        (method::PROMPTS_GET, _) => prompts::get(params, request).await,
        (method::COMPLETE, _) => completion::propose(params, request).await,

        (method::DISCOVER, Era::Modern) => Ok(lifecycle::discover(request)),
        (method::LISTEN, Era::Modern) => listen::listen(params, request).await,

        (method::PING, Era::Legacy) => Ok(lifecycle::ping(request)),
        (method::SET_LEVEL, Era::Legacy) => lifecycle::set_level(params, request),
        (method::RESOURCES_SUBSCRIBE, Era::Legacy) => resources::subscribe(params, request).await,
        (method::RESOURCES_UNSUBSCRIBE, Era::Legacy) => resources::unsubscribe(params, request),

        (unknown, _) => Err(ErrorObject::method_not_found(unknown)),
    };
    answered.unwrap_or_else(|error| Answer::error(Some(&request.id), &named(error), true))
}
