//! What a client receives, as functions of what the engine returned: era, `_meta`, stamps, written lists.

pub(crate) mod answer;
pub(crate) mod call;
pub(super) mod decision;
pub(crate) mod error;
pub(super) mod list;
pub(crate) mod resource;
