//! The client's folders.

use crate::json::Object;
use crate::message::message;

message! {
    /// A folder that the client works in.
    pub struct Root {
        /// A `file:` URI.
        required uri: String = "uri",
        /// Display name.
        optional name: String = "name",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The result of `roots/list`.
    pub struct ListRootsResult {
        /// The folders.
        required roots: Vec<Root> = "roots",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}
