//! Completion of arguments while a user types.

use std::collections::BTreeMap;

use crate::json::{Number, Object};
use crate::message::message;

message! {
    /// Parameters of `completion/complete`.
    pub struct CompleteParams {
        /// What is being filled in.
        required reference: CompleteReference = "ref",
        /// What the user has typed.
        required argument: CompleteArgument = "argument",
        /// Arguments that are already set.
        optional context: CompleteContext = "context",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What is being filled in: a prompt's argument or a template's variable.
    pub struct CompleteReference {
        /// `ref/prompt` or `ref/resource`.
        required kind: String = "type",
        /// The prompt, for `ref/prompt`.
        optional name: String = "name",
        /// The URI or URI template, for `ref/resource`.
        optional uri: String = "uri",
    }

    /// What the user has typed.
    pub struct CompleteArgument {
        /// The argument's name.
        required name: String = "name",
        /// The beginning of its value.
        required value: String = "value",
    }

    /// Arguments that are already set.
    pub struct CompleteContext {
        /// Other arguments of the same prompt or template.
        optional arguments: BTreeMap<String, String> = "arguments",
    }

    /// The result of `completion/complete`.
    pub struct CompleteResult {
        /// The proposed values.
        required completion: Completion = "completion",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The proposed values.
    pub struct Completion {
        /// At most a hundred.
        required values: Vec<String> = "values",
        /// The total number of values.
        optional total: Number = "total",
        /// Whether there are more values.
        optional has_more: bool = "hasMore",
    }
}
