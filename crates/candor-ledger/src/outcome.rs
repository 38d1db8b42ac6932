//! Results of calls, as bytes that the ledger does not read.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// The kind of an outcome. The ledger treats all kinds alike; history shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutcomeKind {
    /// The call returned a result.
    Success,
    /// The call returned an error.
    Failure,
    /// The call returned a result that violates its own schema.
    Invalid,
}

impl OutcomeKind {
    /// Returns the word in the store and in history.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Invalid => "invalid",
        }
    }

    /// Parses a word of [`Self::as_str`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Success, Self::Failure, Self::Invalid].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The first result of a call, which every replay returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResult {
    /// The kind of the outcome.
    pub kind: OutcomeKind,
    /// The result itself, if it is stored.
    pub body: Body,
}

/// The bytes of a result, or what remains of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// All bytes.
    Kept(Arc<[u8]>),
    /// The result was too large to store. The call does not fail because of that, and does not start again.
    Omitted {
        /// The number of bytes.
        len: u64,
        /// Their SHA-256, so that a client that has the bytes can prove that they are the same.
        digest: [u8; 32],
    },
}

impl StoredResult {
    /// Creates a result with all its bytes.
    #[must_use]
    pub fn new(kind: OutcomeKind, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { kind, body: Body::Kept(bytes.into()) }
    }

    /// Returns the number of stored bytes.
    #[must_use]
    pub fn kept(&self) -> u64 {
        match &self.body {
            Body::Kept(bytes) => bytes.len() as u64,
            Body::Omitted { .. } => 0,
        }
    }

    /// Returns the result, without its bytes if there are more than `most`. Their length and digest remain.
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
    fn oversized_result_stores_only_its_length_and_digest() {
        let small = StoredResult::new(OutcomeKind::Success, *b"four");
        assert_eq!(small.clone().within(4), small);
        let cut = small.within(3);
        assert_eq!(cut.kept(), 0);
        assert!(matches!(cut.body, Body::Omitted { len: 4, .. }));
    }
}
