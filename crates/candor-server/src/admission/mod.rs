//! The last checks before a call starts, if no record answers it: its plan, its rate limit, its serial turn.
//!
//! - `plan`: plan tokens, and whether they are for this call.
//! - `rate`: how often one caller calls a tool.
//! - `serial`: calls that wait for others of their group.
//!
//! None of it is durable. A request that only explains a call does not count as a call of the tool, and waits for no turn.

pub(crate) mod plan;
pub(crate) mod rate;
pub(crate) mod serial;
