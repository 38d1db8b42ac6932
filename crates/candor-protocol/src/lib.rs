//! The Model Context Protocol on the wire.
//!
//! - [`json`]: text in, text out; one scanner refuses what parsers read differently.
//! - [`rpc`]: JSON-RPC envelopes, ids, errors and their codes.
//! - [`types`]: the messages of both eras. A member that a type does not know stays in `extra` and is
//!   written back as it came.
//! - [`names`]: methods, `_meta` keys, headers, extension ids.
//! - [`mirror`]: arguments that stand in HTTP headers, too.
//! - [`time`]: moments as text.
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
pub mod time;
pub mod types;

pub use message::{Members, Message};
pub use principal::Principal;
pub use revision::{Era, Revision};
