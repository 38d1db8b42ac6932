//! The id of a decision: a digest of everything that it depends on, except rate and time.

use std::fmt;

use candor_ledger::{Binding, GrantId};
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::plans::Digest;
use crate::record::{EvaluatedCall, canonical};
use crate::seal::hex;

/// The id of a [`Decision`](crate::Decision). Two decisions about one call have the same id if they have the same next step,
/// effect, policy rule, grant, tool definition, arguments and previewed state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecisionId([u8; 16]);

impl DecisionId {
    /// Reads an id as [`Display`](fmt::Display) writes it: 32 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0; 16];
        if text.len() != 32 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        for (at, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl Serialize for DecisionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns the id of a decision about a call. `rule`: what an approval of the call is bound to: the tool's definition and the rules
/// of the policy. `next`: the name of the next step.
pub(super) fn of(
    call: &EvaluatedCall<'_>,
    rule: &Binding,
    next: &str,
    grant: Option<GrantId>,
    state: Option<&Digest>,
) -> DecisionId {
    let hints = call.effect().hints;
    let effect = [
        u8::from(hints.is_read_only()),
        u8::from(hints.is_destructive()),
        u8::from(hints.is_idempotent()),
        u8::from(hints.is_open_world()),
    ];
    let grant = grant.map(|grant| grant.to_string()).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [
        b"candor/decision/1".as_slice(),
        next.as_bytes(),
        &effect,
        &rule.0,
        grant.as_bytes(),
        canonical(call).as_bytes(),
        state.map(Digest::as_slice).unwrap_or_default(),
    ] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    DecisionId(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_reads_what_it_writes_and_nothing_else() {
        let id = DecisionId([7; 16]);
        assert_eq!(DecisionId::parse(&id.to_string()), Some(id));
        let text = id.to_string();
        for bad in [
            "",
            "ask",
            &text[1..],
            &text.replace('7', "g"),
            &format!("{text}0"),
            "é".repeat(16).as_str(),
        ] {
            assert_eq!(DecisionId::parse(bad), None, "{bad}");
        }
    }
}
