//! One file for each subject. Each method decodes its parameters, asks the view, and encodes the answer. Transports call
//! [`lifecycle::initialize`], because it opens a session; `dispatch` calls all other methods.

pub(super) mod completion;
pub(crate) mod lifecycle;
pub(super) mod listen;
pub(super) mod prompts;
pub(crate) mod resources;
pub(super) mod tools;

use candor_engine::Resume;
use candor_protocol::Message;
use candor_protocol::json::{Decode as _, Malformed, Object, RawValue};
use candor_protocol::rpc::ErrorObject;

use crate::rpc::encode::answer::Answer;

/// The answer of a method: a result, or an error.
pub(super) type DispatchResult = Result<Answer, ErrorObject>;

/// Decodes a method's parameters.
fn params<T: Message>(params: Object) -> Result<T, ErrorObject> {
    T::from_object(params)
        .map_err(|e: Malformed| ErrorObject::invalid_params(format!("Invalid params: {e}")))
}

/// Returns what a request brings that continues an earlier one, from the members that three methods share.
fn resume(
    responses: Option<&RawValue>,
    state: Option<String>,
    extra: &Object,
) -> Result<Resume, ErrorObject> {
    // An explicit null is neither an answer nor an absent one.
    if extra.get("inputResponses").is_some() || extra.get("requestState").is_some() {
        return Err(ErrorObject::invalid_params(
            "Invalid params: inputResponses and requestState cannot be null",
        ));
    }
    let answers = responses.map(|responses| Object::decode(responses.into())).transpose();
    let answers = answers.map_err(|e| {
        ErrorObject::invalid_params(format!("Invalid params: {}", e.within("inputResponses")))
    })?;
    Ok(Resume { answers, state })
}
