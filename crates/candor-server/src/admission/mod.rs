//! What stands between a call and its start, once no record answers it: the plan that it follows, its rate, its turn.
//!
//! - `plan`: tokens of previews, and whether they are for this call.
//! - `rate`: how often one caller has called a tool.
//! - `serial`: calls that wait for others of their group.
//!
//! None of it is durable, and none of it is asked by who only wants to know what a call would do.

pub(crate) mod plan;
pub(crate) mod rate;
pub(crate) mod serial;
