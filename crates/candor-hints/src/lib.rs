//! What a tool call may do.
//!
//! - [`Effect`]: what a call does to existing data: reads, adds, changes, deletes.
//! - [`Hints`]: the effect, whether a call is safe to retry and whether it is external, in an order of risk with a join.
//! - [`Annotations`]: the hints of a call, and further fields that are passed on.
//! - [`DeclaredHints`]: what an author declared, with gaps; [`DeclaredHints::effective`] is the only way to read it.
//! - [`EffectTable`]: maps a call's arguments to its hints, as data. One table gives the hints of a call and of an incomplete
//!   call, and the worst case of the tool.
//! - [`Domain`]: the values that an argument can have. With it, [`EffectTable::flaws`] finds the rows that no call matches.
//!
//! ```
//! use candor_hints::{Hints, EffectRow, EffectTable, Condition};
//! use serde_json::json;
//!
//! let table = EffectTable::new()
//!     .row(EffectRow::when("/action", Condition::equals("read")).then(Hints::READS))
//!     .row(EffectRow::when("/action", Condition::equals("delete")).then(Hints::DELETES.idempotent()))
//!     .closed_world();
//! assert!(table.of(&json!({"action": "read"})).is_read_only());
//! assert!(table.of(&json!({"action": "delete"})).is_destructive());
//! // No row matches, so the worst case applies.
//! assert_eq!(table.of(&json!({"action": "shred"})), Hints::WORST.closed_world());
//! ```
//!
//! This crate handles JSON values. It knows nothing of schemas, tools or the protocol.

mod annotations;
mod ask;
mod declared;
mod domain;
mod effect;
mod hints;
mod language;
mod path;
mod pointer;
mod reach;
mod table;
mod test;

pub use annotations::{Annotations, HINT_NAMES};
pub use ask::{AskLevel, Verdict};
pub use declared::{DeclaredHints, EffectiveHints, HintSource};
pub use domain::{Domain, Lengths, Numbers, Step, ValueClass};
pub use effect::{Effect, UNCLASSIFIED};
pub use hints::Hints;
pub use pointer::Pointer;
pub use reach::{RowFlaw, RowReach};
pub use table::{EffectRow, EffectTable};
pub use test::Condition;
