//! What a tool call may do to the world.
//!
//! - [`Hints`]: four answers, always all four, in an order of risk with a join.
//! - [`Declared`]: what somebody said of them, with gaps; [`Declared::effective`] is the only way to read it.
//! - [`Table`]: from a call's arguments to its hints, as data. From one table come the hints of a call, of a call that is
//!   not complete yet, and the worst case of the tool.
//! - [`Verdict`]: the same in a word, for people.
//!
//! ```
//! use candor_hints::{Hints, Row, Table, Test};
//! use serde_json::json;
//!
//! let table = Table::new()
//!     .row(Row::when("/action", Test::equals("read")).then(Hints::READS))
//!     .row(Row::when("/action", Test::equals("delete")).then(Hints::DELETES.repeatable()))
//!     .closed_world();
//! assert!(table.of(&json!({"action": "read"})).is_read_only());
//! assert!(table.of(&json!({"action": "delete"})).is_destructive());
//! // Not in the table: nothing is known, so the worst is.
//! assert_eq!(table.of(&json!({"action": "shred"})), Hints::WORST.closed_world());
//! ```
//!
//! Knows JSON values; knows nothing of schemas, tools or the protocol.

mod ask;
mod declared;
mod hints;
mod path;
mod pointer;
mod table;
mod test;
mod verdict;

pub use ask::{Ask, Judgement};
pub use declared::{Declared, Effective, Source};
pub use hints::Hints;
pub use pointer::Pointer;
pub use table::{Row, Table};
pub use test::Test;
pub use verdict::{UNCLASSIFIED, Verdict};
