//! The Model Context Protocol on the wire.
//!
//! - [`json`]: JSON as text; one scanner refuses what parsers read differently.
//! - [`rpc`]: JSON-RPC envelopes, ids, errors and their codes.
//! - [`types`]: the messages of both eras. A member that a type does not know stays in `extra` and is
//!   written back as it came.
//! - [`names`]: methods, `_meta` keys, headers, extension ids.
//! - [`mirror`]: arguments that are also in HTTP headers.
//! - [`shown`]: untrusted text, safe on a terminal.
//! - [`time`]: timestamps as text.
//! - [`Undo`]: whether a call can be undone, in one sentence for every prompt.
//! - [`Revision`], [`Era`], [`Principal`].
//!
//! No I/O and no runtime: everything here is a value or a function of values.

pub mod json;
mod message;
pub mod mirror;
pub mod names;
mod principal;
mod revision;
pub mod rpc;
pub mod shown;
pub mod time;
pub mod types;
mod undo;

pub use message::{Members, Message};
pub use principal::Principal;
pub use revision::{Era, Revision};
pub use undo::Undo;
