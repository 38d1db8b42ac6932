//! What `cargo xtask bench` runs: servers to compare, and the load that they are put under.
//!
//! # The map
//!
//! | what | where |
//! |---|---|
//! | the one call that everybody answers | [`message`] |
//! | the servers: candor, and what it is held against | [`peers`], started by `bench-server` |
//! | the load: connections, pipes, what it costs the server | [`load`], started by `bench-load` |
//! | a folder, listed | [`folder`], by `bench-load` too |
//! | typed tools by themselves | [`typed`], by `bench-load` too |
//! | the smallest server, twice, for counting crates | `examples/ten_lines_*.rs` |
//!
//! Which pairs are compared, how often, and what ratio is good stands in `xtask/src/bench`. Nothing here is part of the
//! framework; no crate may depend on it.

pub mod folder;
pub mod ledger;
pub mod load;
pub mod message;
pub mod peers;
pub mod typed;

/// What a server prints before its port, once it can be reached.
pub const LISTENING: &str = "listening on http://127.0.0.1:";
