//! Maps a method's name to the file that answers it, and does nothing else.

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;

use crate::answer::Answer;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::methods;
use crate::trace;

/// The answer of a method: a result, or an error.
pub(crate) type DispatchResult = Result<Answer, ErrorObject>;

/// Answers a request by its method. A method exists in one era or both, and only if the server offers its subject.
pub(crate) async fn dispatch(
    engine: &Engine,
    name: &str,
    params: Object,
    x: &RequestContext,
) -> Answer {
    let answered = match (name, x.era()) {
        (method::TOOLS_CALL, _) => methods::tools_call::answer(engine, params, x).await,
        (method::TOOLS_ANNOTATIONS, _) => {
            methods::tools_annotations::answer(engine, params, x).await
        }
        (method::TOOLS_RESOLVE, _) => methods::tools_resolve::answer(engine, params, x).await,
        (method::TOOLS_LIST, _) => methods::tools_list::answer(engine, params, x).await,
        (method::RESOURCES_LIST, _) => methods::resources_list::answer(engine, params, x).await,
        (method::RESOURCES_METADATA, _) => {
            methods::resources_metadata::answer(engine, params, x).await
        }
        (method::DIRECTORY_READ, _) => methods::resources_list::directory(engine, params, x).await,
        (method::SKILLS_LIST, _) => methods::skills::list(engine, x),
        (method::SKILLS_GET, _) => methods::skills::get(engine, params),
        (method::RESOURCES_TEMPLATES_LIST, _) => {
            methods::resources_templates_list::answer(engine, params, x).await
        }
        (method::RESOURCES_READ, _) => methods::resources_read::answer(engine, params, x).await,
        (method::PROMPTS_LIST, _) => methods::prompts_list::answer(engine, params, x).await,
        (method::PROMPTS_GET, _) => methods::prompts_get::answer(engine, params, x).await,
        (method::COMPLETE, _) => methods::complete::answer(engine, params, x).await,

        (method::DISCOVER, Era::Modern) => methods::discover::answer(engine, x),
        (method::LISTEN, Era::Modern) => methods::listen::answer(engine, params, x).await,

        (method::PING, Era::Legacy) => methods::ping::answer(engine, x),
        (method::SET_LEVEL, Era::Legacy) => methods::set_level::answer(engine, params, x),
        (method::RESOURCES_SUBSCRIBE, Era::Legacy) => {
            methods::resources_subscribe::subscribe(engine, params, x).await
        }
        (method::RESOURCES_UNSUBSCRIBE, Era::Legacy) => {
            methods::resources_subscribe::unsubscribe(engine, params, x)
        }

        (unknown, _) => Err(ErrorObject::method_not_found(unknown)),
    };
    answered.unwrap_or_else(|error| Answer::error(Some(&x.id), &trace::named(error), true))
}
