//! Instants and dates of the crate `time` as parameters and results.
//!
//! schemars does not know the crate, and serde writes its types in formats that no JSON Schema describes. These two wrappers have the
//! formats `date-time` and `date`.
//!
//! ```
//! use candor::prelude::*;
//! use candor::time::{IsoDate, Rfc3339};
//!
//! /// Returns the day of an instant, in its own time zone.
//! #[tool(reads)]
//! async fn day_of(at: Rfc3339) -> Result<IsoDate, ToolError> {
//!     Ok(IsoDate(at.date()))
//! }
//! # let _ = tools![day_of];
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use time::{Date, OffsetDateTime};

/// An instant in the format of RFC 3339: `2026-07-28T12:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rfc3339(#[serde(with = "time::serde::rfc3339")] pub OffsetDateTime);

/// A date in the format of ISO 8601: `2026-07-28`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IsoDate(#[serde(with = "iso_date")] pub Date);

macro_rules! wrapper {
    ($wrapper:ident, $wrapped:ty, $format:literal) => {
        impl Deref for $wrapper {
            type Target = $wrapped;

            fn deref(&self) -> &$wrapped {
                &self.0
            }
        }

        impl From<$wrapped> for $wrapper {
            fn from(value: $wrapped) -> Self {
                Self(value)
            }
        }

        impl From<$wrapper> for $wrapped {
            fn from(value: $wrapper) -> Self {
                value.0
            }
        }

        impl fmt::Display for $wrapper {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }

        impl JsonSchema for $wrapper {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($wrapper).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!("candor::time::", stringify!($wrapper)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "format": $format})
            }
        }
    };
}

wrapper!(Rfc3339, OffsetDateTime, "date-time");
wrapper!(IsoDate, Date, "date");

/// Reads and writes a date in the constant format `Iso8601::DATE`, which has no time zone.
mod iso_date {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use time::Date;
    use time::format_description::well_known::Iso8601;

    pub(super) fn serialize<S: Serializer>(date: &Date, to: S) -> Result<S::Ok, S::Error> {
        let text = date.format(&Iso8601::DATE).map_err(S::Error::custom)?;
        to.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Date, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
        Date::parse(&text, &Iso8601::DATE).map_err(D::Error::custom)
    }
}
