//! When a person is asked, by what a call would do.

use crate::hints::Hints;

/// Which calls a person is asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// None: whoever uses the server decides for themselves.
    #[default]
    Never,
    /// Those that may delete or overwrite.
    Destructive,
    /// Those that may change anything.
    Writes,
    /// All.
    Always,
}

impl Ask {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Destructive => "destructive",
            Self::Writes => "writes",
            Self::Always => "always",
        }
    }

    /// Whether a call that does this is asked about.
    #[must_use]
    pub const fn covers(self, hints: Hints) -> bool {
        match self {
            Self::Never => false,
            Self::Destructive => hints.is_destructive(),
            Self::Writes => !hints.is_read_only(),
            Self::Always => true,
        }
    }
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It may start.
    Allow,
    /// A person is asked first.
    Ask,
    /// It may not start.
    Deny,
}

impl Judgement {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}
