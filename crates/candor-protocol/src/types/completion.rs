//! Completion of arguments while a person types.

use std::collections::BTreeMap;

use crate::json::{Number, Object};
use crate::message::message;

message! {
    /// Parameters of `completion/complete`.
    pub struct CompleteParams {
        /// What is being filled in.
        required reference: CompleteReference = "ref",
        /// What has been typed.
        required argument: CompleteArgument = "argument",
        /// What has been decided already.
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

    /// What has been typed.
    pub struct CompleteArgument {
        /// The argument's name.
        required name: String = "name",
        /// The beginning of its value.
        required value: String = "value",
    }

    /// What has been decided already.
    pub struct CompleteContext {
        /// Other arguments of the same prompt or template.
        optional arguments: BTreeMap<String, String> = "arguments",
    }

    /// What it could become.
    pub struct CompleteResult {
        /// The proposals.
        required completion: Completion = "completion",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The proposals.
    pub struct Completion {
        /// At most a hundred.
        required values: Vec<String> = "values",
        /// How many there are in all.
        optional total: Number = "total",
        /// Whether there are more.
        optional has_more: bool = "hasMore",
    }
}
