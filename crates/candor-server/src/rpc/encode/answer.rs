//! The last stage: encodes a result or an error as a JSON-RPC answer, in the client's era.

use bytes::Bytes;
use candor_engine::{ResponseCapacity, SMALL, weight};
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::meta;
use candor_protocol::rpc::{ErrorObject, RequestId, measure_result, write_error, write_result_of};
use candor_protocol::types::{
    CallToolResult, CompleteResult, DiscoverResult, GetPromptResult, InitializeResult,
    InputRequired, ReadResourceResult, ResolveToolResult, ResourceMetadataResult,
    ToolAnnotationsResult,
};
use candor_protocol::{Era, Members};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::error::unheld;
use crate::rpc::written::Written;
use crate::running_server::{CacheHint, CacheScope};

/// The answer to a request, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A result.
    Result {
        /// The whole JSON-RPC message.
        message: Written,
        /// Whether it is the result of an earlier attempt.
        replayed: bool,
    },
    /// An error.
    Error {
        /// The whole JSON-RPC message.
        message: Written,
        /// Its code.
        code: i64,
        /// Whether a method handled the request. If not, the request itself was invalid.
        dispatched: bool,
    },
    /// No answer: the client cancelled its request.
    Silent,
}

impl Answer {
    pub(crate) fn error(id: Option<&RequestId>, error: &ErrorObject, dispatched: bool) -> Self {
        Self::Error { message: write_error(id, error).into(), code: error.code(), dispatched }
    }

    /// Returns true if it is the result of an earlier call.
    pub(crate) const fn is_replayed(&self) -> bool {
        matches!(self, Self::Result { replayed: true, .. })
    }

    /// Marks it as the result of an earlier attempt.
    pub(crate) fn replayed(self) -> Self {
        match self {
            Self::Result { message, .. } => Self::Result { message, replayed: true },
            other => other,
        }
    }

    /// Returns the number of bytes that only this answer holds. A list that is encoded once and shared does not count.
    pub(crate) fn own_bytes(&self) -> usize {
        match self {
            Self::Result { message, .. } | Self::Error { message, .. } => message.own_bytes(),
            Self::Silent => 0,
        }
    }

    /// Returns the message to send, if there is one.
    #[must_use]
    pub(crate) fn into_written(self) -> Option<Written> {
        match self {
            Self::Result { message, .. } | Self::Error { message, .. } => Some(message),
            Self::Silent => None,
        }
    }

    /// Returns the message to send in one piece, if there is one.
    #[must_use]
    pub(crate) fn into_message(self) -> Option<Bytes> {
        self.into_written().map(Written::into_bytes)
    }
}

/// Joins the answers to a batch into one message.
pub(crate) fn join_batch(answers: &[Bytes]) -> Bytes {
    [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat().into()
}

/// A result body whose `_meta` can be added to.
pub(crate) trait Body: Members {
    fn meta(&mut self) -> &mut Option<Object>;

    /// Returns a part that was encoded before. The body has put [`PLACE`] in its position.
    fn shared(&self) -> Option<Bytes> {
        None
    }

    /// Returns about how many bytes it holds in memory, if these may be many.
    fn weight(&self) -> usize {
        0
    }
}

macro_rules! bodies {
    ($($type:ty $(: $weight:expr)?;)*) => {$(
        impl Body for $type {
            fn meta(&mut self) -> &mut Option<Object> {
                &mut self.meta
            }
            $(fn weight(&self) -> usize {
                $weight(self)
            })?
        }
    )*};
}
bodies!(CallToolResult: weight::of_result; CompleteResult; DiscoverResult; GetPromptResult: weight::of_prompt; InitializeResult;
    InputRequired; ReadResourceResult: weight::of_resource; ResolveToolResult; ResourceMetadataResult; ToolAnnotationsResult;);

/// A result with nothing in it.
#[derive(Default)]
pub(crate) struct Empty {
    pub(crate) meta: Option<Object>,
}

impl Members for Empty {
    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.meta.as_ref().map_or(Ok(()), |meta| map.serialize_entry("_meta", meta))
    }
}
bodies!(Empty;);

/// The placeholder of a part that was encoded before. The body writes it before any text of a caller or a handler, so the first one
/// found is the right one.
const PLACE: &str = "\u{0}";
const PLACE_AS_JSON: &[u8] = br#""\u0000""#;

/// A page of a list whose items are encoded already.
pub(crate) struct ListPage {
    pub(crate) key: &'static str,
    pub(crate) items: Bytes,
    pub(crate) next_cursor: Option<String>,
    pub(crate) meta: Option<Object>,
}

impl Members for ListPage {
    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(self.key, PLACE)?;
        if let Some(cursor) = &self.next_cursor {
            map.serialize_entry("nextCursor", cursor)?;
        }
        self.meta.as_ref().map_or(Ok(()), |meta| map.serialize_entry("_meta", meta))
    }
}

impl Body for ListPage {
    fn meta(&mut self) -> &mut Option<Object> {
        &mut self.meta
    }

    fn shared(&self) -> Option<Bytes> {
        Some(self.items.clone())
    }
}

/// Whether a modern result ends the request or asks for input.
#[derive(Clone, Copy)]
pub(crate) enum Finality {
    Complete,
    InputRequired,
}

/// Writes results for one client.
pub(crate) struct Encoder<'a> {
    pub(crate) id: &'a RequestId,
    pub(crate) era: Era,
    pub(crate) server_info: &'a RawValue,
    pub(crate) response: Option<&'a ResponseCapacity>,
}

impl Encoder<'_> {
    pub(crate) fn result(
        &self,
        mut body: impl Body,
        finality: Finality,
        cache: Option<CacheHint>,
    ) -> Answer {
        let stamp = match (self.era, body.meta()) {
            (Era::Legacy, _) => None,
            (Era::Modern, meta) => {
                // Most results have no metadata of their own, and then nothing needs to be copied.
                let server_info = match meta {
                    Some(meta) => {
                        meta.set(meta::SERVER_INFO, self.server_info.to_owned());
                        None
                    }
                    None => Some(self.server_info),
                };
                Some(Stamp { finality, cache, server_info })
            }
        };
        let stamped = Stamped { stamp, body: &body };
        let weight = body.weight();
        let mut bytes = 0;
        if weight > SMALL {
            // Measured before it is built: then the server refuses it, or builds it in one allocation.
            bytes = measure_result(self.id, &stamped);
            if let Some(capacity) = self.response
                && let Err(full) = capacity.reserve(weight.saturating_add(bytes))
            {
                return Answer::error(Some(self.id), &unheld(full, bytes), true);
            }
        }
        let message = write_result_of(self.id, &stamped, bytes);
        let message = match body.shared() {
            None => message.into(),
            Some(shared) => Written::around(message, PLACE_AS_JSON, shared),
        };
        Answer::Result { message, replayed: false }
    }
}

/// What the modern era requires in every result.
struct Stamp<'a> {
    finality: Finality,
    cache: Option<CacheHint>,
    /// `None` if it is in the body's own metadata.
    server_info: Option<&'a RawValue>,
}

/// A body and, in the modern era, its stamp.
struct Stamped<'a, T> {
    stamp: Option<Stamp<'a>>,
    body: &'a T,
}

impl<T: Members> Serialize for Stamped<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let Some(stamp) = &self.stamp else {
            self.body.write_members(&mut map)?;
            return map.end();
        };
        let result_type = match stamp.finality {
            Finality::Complete => "complete",
            Finality::InputRequired => "input_required",
        };
        map.serialize_entry("resultType", result_type)?;
        if let Some(cache) = stamp.cache {
            map.serialize_entry("ttlMs", &cache.ttl_ms)?;
            let scope = match cache.scope {
                CacheScope::Public => "public",
                CacheScope::Private => "private",
            };
            map.serialize_entry("cacheScope", scope)?;
        }
        self.body.write_members(&mut map)?;
        if let Some(info) = stamp.server_info {
            map.serialize_entry("_meta", &ServerInfo(info))?;
        }
        map.end()
    }
}

/// Metadata that only names the server.
struct ServerInfo<'a>(&'a RawValue);

impl Serialize for ServerInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(meta::SERVER_INFO, self.0)?;
        map.end()
    }
}
