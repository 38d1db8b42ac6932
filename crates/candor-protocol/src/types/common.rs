//! Types that several messages share.

use crate::json::{Decode, Json, Number, Object};
use crate::message::{message, open_enum};

message! {
    /// The name and version of a client or a server.
    pub struct Implementation {
        /// Name for programs.
        required name: String = "name",
        /// Its version.
        required version: String = "version",
        /// Display name.
        optional title: String = "title",
        /// What it is for.
        optional description: String = "description",
        /// Its website.
        optional website_url: String = "websiteUrl",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
    }

    /// An icon for a user interface.
    pub struct Icon {
        /// An `https:` or `data:` URI.
        required src: String = "src",
        /// Its media type, if the source does not say.
        optional mime_type: String = "mimeType",
        /// Sizes as `48x48` or `any`.
        optional sizes: Vec<String> = "sizes",
        /// `light` or `dark`.
        optional theme: String = "theme",
    }

    /// Advice on content: its audience, importance and last change.
    pub struct Annotations {
        /// The intended audience.
        optional audience: Vec<Role> = "audience",
        /// From 0 (may be left out) to 1 (required).
        optional priority: Number = "priority",
        /// When it last changed, ISO 8601.
        optional last_modified: String = "lastModified",
    }

    /// Parameters of every list.
    pub struct PageParams {
        /// Where the page before this one ended.
        optional cursor: String = "cursor",
        /// Metadata of the request.
        optional meta: Object = "_meta",
    }
}

open_enum! {
    /// The speaker in a conversation.
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

/// Severity of a log message, as in syslog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogLevel {
    /// For debugging.
    Debug,
    /// Normal.
    Info,
    /// Normal but significant.
    Notice,
    /// Something to look at.
    Warning,
    /// Something failed.
    Error,
    /// Something important failed.
    Critical,
    /// Act at once.
    Alert,
    /// Unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

// Closed, unlike the open enumerations: severities are compared, and an unknown one cannot be.
impl Decode for LogLevel {
    fn decode(json: Json<'_>) -> Result<Self, crate::json::Malformed> {
        let word = json.as_str()?;
        Self::ALL
            .into_iter()
            .find(|level| level.as_str() == word)
            .ok_or_else(|| crate::json::Malformed::here(format!("is not a log level: {word:?}")))
    }
}

impl serde::Serialize for LogLevel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
