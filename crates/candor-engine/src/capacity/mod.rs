//! How much runs at once, how often, and in which order. Nothing here is durable.
//!
//! - `limits`: limits on what a peer can make the server hold or do.
//! - `slots`: how much runs at once, in total and per caller. `response`: capacity for one response.
//! - `rate`: how often one caller calls a tool, or asks for explanations.
//! - `serial`: calls that wait for others of their group.

mod limits;
pub(crate) mod rate;
mod rate_limit;
mod response;
pub(crate) mod serial;
mod slots;

pub use limits::Limits;
pub use rate_limit::RateLimit;
pub use response::{ResponseCapacity, SMALL};
pub use serial::SerialPosition;
pub(crate) use slots::SlotPool;
pub use slots::{AtCapacity, Capacity, Slot};
