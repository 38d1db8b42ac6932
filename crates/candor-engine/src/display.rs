//! Texts for operators and reviewers, and what they store: one name for what this crate takes from `candor_operator`.

pub(crate) use candor_operator::words::reason as unknown_reason;
pub(crate) use candor_operator::{ArgumentPattern, RecordedEffect, RequestDetails, when};
