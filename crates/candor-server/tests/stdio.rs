//! The stdio transport, end to end: a client at one end of a pipe in memory, the server at the other.
//!
//! The clock is paused. Tokio moves a paused clock on only when every task waits, so a time limit that passes here
//! means "nothing more can happen": a hang fails at once, and silence is asserted without waiting for luck.

#![allow(missing_docs)]

#[path = "stdio/asking.rs"]
mod asking;
#[path = "stdio/changing.rs"]
mod changing;
#[path = "stdio/client.rs"]
mod client;
#[path = "stdio/ending.rs"]
mod ending;
#[path = "stdio/eras.rs"]
mod eras;
#[path = "stdio/lines.rs"]
mod lines;
#[path = "stdio/running.rs"]
mod running;
#[path = "stdio/tools.rs"]
mod tools;
