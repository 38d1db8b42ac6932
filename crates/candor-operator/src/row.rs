//! Audit rows for programs. All members are always present; an unknown value is `null`.

use std::time::Duration;

use candor_ledger::{
    ApprovalChannel, AuditContext, AuditRow, CallError, Key, Scope, StateChange, UnknownReason,
};
use serde_json::{Value, json};

use crate::display::when;
use crate::effect::RecordedEffect;
use crate::hex::hex;
use crate::state;

/// Returns an audit row as a JSON object.
pub fn json(row: &AuditRow) -> Value {
    let AuditRow {
        seq,
        at,
        scope,
        key,
        event,
        change,
        reason,
        outcome,
        by,
        via,
        why,
        circumstances,
    } = row;
    let Scope { principal, server, instance, tool } = scope;
    let AuditContext { shape, digest, hints, duration, note, error, arguments: _ } = circumstances;
    let of_change = |tell: fn(&StateChange) -> Value| change.as_ref().map(tell);
    json!({
        "seq": seq,
        "at": when::exact(*at),
        "id": row.record().map(|id| id.digest().to_string()),
        "principal": principal,
        "server": server,
        "instance": instance,
        "tool": tool,
        "key": key.as_ref().map(Key::as_str),
        "event": event,
        "from": change.as_ref().map(|change| state::word(change.from, None)),
        "to": change.as_ref().map(|change| state::word(change.to, *outcome)),
        "fence": of_change(|change| change.fence.0.into()),
        "attempt": of_change(|change| change.attempt.into()),
        "outcome": outcome.map(state::outcome),
        "unknownReason": reason.map(UnknownReason::as_str),
        "by": by,
        "via": via.map(ApprovalChannel::as_str),
        "denialReason": why,
        "argumentTypes": shape.as_deref(),
        "digest": digest.as_ref().map(|digest| hex(digest)),
        "hints": hints.as_deref().map(|stored| RecordedEffect::read(stored).summary().into_owned()),
        "durationMs": duration.map(millis),
        "note": note.as_deref(),
        "error": error.as_ref().map(error_json),
    })
}

/// Returns the error of a failed call as a JSON object.
pub fn error_json(error: &CallError) -> Value {
    json!({"code": error.code, "message": error.message})
}

/// Returns a duration in milliseconds, to the microsecond.
pub fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
