//! Protocol revisions, and the two eras that they belong to.

use std::fmt;

/// A published revision of the protocol that Candor serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// `2024-11-05`, without its two-endpoint transport.
    V2024_11_05,
    /// `2025-03-26`, the only one with batches.
    V2025_03_26,
    /// `2025-06-18`.
    V2025_06_18,
    /// `2025-11-25`, the last with sessions.
    V2025_11_25,
    /// `2026-07-28`, the first without.
    V2026_07_28,
}

/// A generation of the protocol. A client opens with `initialize`, or describes itself in every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// Up to 2025-11-25: `initialize`, sessions, requests from server to client.
    Legacy,
    /// From 2026-07-28: stateless, `_meta` with every request, `input_required` round trips.
    Modern,
}

impl Revision {
    /// All revisions, newest first, as they are advertised.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// The revision to offer a legacy client that asked for an unknown one.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// Returns the revision that a date names.
    #[must_use]
    pub fn from_date(date: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|r| r.as_str() == date)
    }

    /// Returns the date that names the revision.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of the revision.
    #[must_use]
    pub const fn era(self) -> Era {
        match self {
            Self::V2026_07_28 => Era::Modern,
            _ => Era::Legacy,
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
