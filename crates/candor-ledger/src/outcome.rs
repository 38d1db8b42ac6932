//! What came of a call, as bytes that the ledger does not read.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// What sort of outcome it is. The ledger treats all alike; history shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// The call did what it was asked.
    Success,
    /// The call failed, and said so.
    Failure,
    /// The call ended, but what it returned breaks its own contract.
    Invalid,
}

impl OutcomeKind {
    /// The word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Invalid => "invalid",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Success, Self::Failure, Self::Invalid].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The first result of a call: what every later answer repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResult {
    /// What sort it is.
    pub kind: OutcomeKind,
    /// The result itself, as far as it is kept.
    pub body: Body,
}

/// The bytes of an outcome, or what is left of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// All of it.
    Kept(Arc<[u8]>),
    /// It was too large to keep. That never fails a call, and never lets it start again.
    Omitted {
        /// How many bytes it had.
        len: u64,
        /// Their SHA-256, so that who has the bytes can show that they are those.
        digest: [u8; 32],
    },
}

impl StoredResult {
    /// An outcome with all its bytes.
    #[must_use]
    pub fn new(kind: OutcomeKind, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { kind, body: Body::Kept(bytes.into()) }
    }

    /// How many bytes are kept.
    #[must_use]
    pub fn kept(&self) -> u64 {
        match &self.body {
            Body::Kept(bytes) => bytes.len() as u64,
            Body::Omitted { .. } => 0,
        }
    }

    /// The same, without its bytes if there are more than that.
    #[must_use]
    pub fn within(self, most: u64) -> Self {
        match &self.body {
            Body::Kept(bytes) if bytes.len() as u64 > most => {
                let digest = Sha256::digest(bytes).into();
                Self { kind: self.kind, body: Body::Omitted { len: bytes.len() as u64, digest } }
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_leaves_its_length_and_digest() {
        let small = StoredResult::new(OutcomeKind::Success, *b"four");
        assert_eq!(small.clone().within(4), small);
        let cut = small.within(3);
        assert_eq!(cut.kept(), 0);
        assert!(matches!(cut.body, Body::Omitted { len: 4, .. }));
    }
}
