//! The macro behind every message type: known members are typed, all others stay as text.

use serde::ser::SerializeMap;

use crate::json::{Malformed, Object};

/// An object on the wire. Some members have types; no member is lost.
pub trait Message: Members + Sized {
    /// Takes the known members out of an object; keeps the rest.
    fn from_object(object: Object) -> Result<Self, Malformed>;
}

/// A message that can be written into an open object, beside other members.
pub trait Members {
    /// Writes all members, known and unknown, into a map that is being serialized.
    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// Declares message types.
///
/// `required` members must be present; `optional` ones become `Option`. An explicit `null` for an
/// optional member decodes as `None` and stays in `extra`, so that it is written back as `null`,
/// unless the member has been set since.
macro_rules! message {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_meta:meta])*
                $presence:ident $field:ident: $type:ty = $key:literal,
            )*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$field_meta])*
                pub $field: $crate::message::member_type!($presence $type),
            )*
            /// Members that this type does not know, as they arrived.
            pub extra: $crate::json::Object,
        }

        impl $crate::message::Message for $name {
            fn from_object(mut object: $crate::json::Object) -> Result<Self, $crate::json::Malformed> {
                $(let mut $field: Option<$type> = None;)*
                object.retain(|key, json| Ok(match key {
                    $(
                        $key if $crate::message::present!($presence json) => {
                            $field = Some(
                                <$type as $crate::json::Decode>::decode(json).map_err(|e| e.within($key))?,
                            );
                            false
                        }
                    )*
                    _ => true,
                }))?;
                Ok(Self {
                    $($field: $crate::message::settle!($presence $field $key),)*
                    extra: object,
                })
            }
        }

        impl $name {
            /// Removes optional members of this type that are `null`. Those inside its members stay.
            #[allow(dead_code)]
            pub(crate) fn drop_own_nulls(&mut self) {
                if self.extra.is_empty() {
                    return;
                }
                // It cannot fail: nothing is decoded.
                let _ = self.extra.retain(|key, json| {
                    let optional = match key {
                        $($key => $crate::message::is_optional!($presence),)*
                        _ => false,
                    };
                    Ok(!(optional && json.is_null()))
                });
            }
        }

        impl $crate::message::Members for $name {
            fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::message::write!($presence map $key, &self.$field);)*
                for (key, json) in self.extra.iter() {
                    let shadowed = match key {
                        $($key => $crate::message::is_set!($presence &self.$field),)*
                        _ => false,
                    };
                    if !shadowed {
                        map.serialize_entry(key, &json)?;
                    }
                }
                Ok(())
            }
        }

        impl $crate::json::Decode for $name {
            fn decode(json: $crate::json::Json<'_>) -> Result<Self, $crate::json::Malformed> {
                <Self as $crate::message::Message>::from_object(<$crate::json::Object as $crate::json::Decode>::decode(json)?)
            }
        }

        impl TryFrom<&serde_json::Value> for $name {
            type Error = $crate::json::Malformed;

            fn try_from(value: &serde_json::Value) -> Result<Self, $crate::json::Malformed> {
                <Self as $crate::json::Decode>::decode((&*$crate::json::raw(value)).into())
            }
        }

        impl TryFrom<serde_json::Value> for $name {
            type Error = $crate::json::Malformed;

            fn try_from(value: serde_json::Value) -> Result<Self, $crate::json::Malformed> {
                Self::try_from(&value)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::json::Malformed;

            /// Reads JSON text.
            fn from_str(text: &str) -> Result<Self, $crate::json::Malformed> {
                let json = $crate::json::scan(text.as_bytes(), $crate::json::DEFAULT_DEPTH)
                    .map_err(|e| $crate::json::Malformed::here(format!("cannot be read: {e}")))?;
                <Self as $crate::json::Decode>::decode(json)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::message::Members::write_members(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }

        $crate::message::constructor! { $name [] [$($presence $field: $type,)*] [$($field $presence)*] }
    )*};
}

/// `new(…)` takes the required members in order; everything else starts absent.
macro_rules! constructor {
    ($name:ident [$($done:tt)*] [required $field:ident: $type:ty, $($rest:tt)*] $all:tt) => {
        $crate::message::constructor! { $name [$($done)* $field: $type,] [$($rest)*] $all }
    };
    ($name:ident $done:tt [optional $field:ident: $type:ty, $($rest:tt)*] $all:tt) => {
        $crate::message::constructor! { $name $done [$($rest)*] $all }
    };
    ($name:ident [$($required:ident: $type:ty,)*] [] [$($field:ident $presence:ident)*]) => {
        impl $name {
            /// Creates a message with its required members set and all others absent.
            #[must_use]
            #[allow(clippy::new_without_default, clippy::too_many_arguments)]
            pub fn new($($required: impl Into<$type>),*) -> Self {
                $(let $required = $required.into();)*
                Self {
                    $($field: $crate::message::initial!($presence $field),)*
                    extra: $crate::json::Object::new(),
                }
            }
        }
    };
}

macro_rules! member_type {
    (required $type:ty) => { $type };
    (optional $type:ty) => { Option<$type> };
}

macro_rules! initial {
    (required $field:ident) => {
        $field
    };
    (optional $field:ident) => {
        None
    };
}

macro_rules! present {
    (required $json:ident) => {
        true
    };
    (optional $json:ident) => {
        !$json.is_null()
    };
}

macro_rules! is_optional {
    (required) => {
        false
    };
    (optional) => {
        true
    };
}

macro_rules! settle {
    (required $field:ident $key:literal) => {
        $field.ok_or_else(|| $crate::json::Malformed::missing($key))?
    };
    (optional $field:ident $key:literal) => {
        $field
    };
}

macro_rules! write_member {
    (required $map:ident $key:literal, $value:expr) => {
        $map.serialize_entry($key, $value)?
    };
    (optional $map:ident $key:literal, $value:expr) => {
        if let Some(value) = $value {
            $map.serialize_entry($key, value)?;
        }
    };
}

macro_rules! is_set {
    (required $value:expr) => {{
        let _ = $value;
        true
    }};
    (optional $value:expr) => {
        $value.is_some()
    };
}

/// Declares string enumerations that keep values they do not know.
macro_rules! open_enum {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )* }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
            /// A value that this version does not know.
            Other(String),
        }

        impl $name {
            /// Returns the word on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Other(text),
                }
            }
        }

        impl $crate::json::Decode for $name {
            fn decode(json: $crate::json::Json<'_>) -> Result<Self, $crate::json::Malformed> {
                String::decode(json).map(Self::from)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    )*};
}

pub(crate) use {
    constructor, initial, is_optional, is_set, member_type, message, open_enum, present, settle,
    write_member as write,
};
