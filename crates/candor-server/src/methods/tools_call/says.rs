//! Encodes what the client of a call receives.

use candor_hints::{EffectiveHints, Hints};
use candor_protocol::json::{Decode, Json, Object, RawValue};
use candor_protocol::names::extension;
use candor_protocol::types::{CallToolResult, Content};
use candor_protocol::{Era, Members, Message};
use serde::ser::SerializeMap;
use serde_json::json;

use super::shape::panicked;
use crate::answer::{Answer, Body};
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::ledger::once::HandlerResult;
use crate::ledger::operation::{Outcome, RecordNote};
use crate::ledger::words;
use crate::methods::asking;
use crate::resource::Publisher;
use crate::round::{CarriedState, RequestBinding};
use crate::tool::{RegisteredTool, ToolError, effects};
use crate::weight;

/// What encoding an answer needs: the engine, the request and the tool.
#[derive(Clone, Copy)]
pub(super) struct CallEncoder<'a> {
    pub(super) engine: &'a Engine,
    pub(super) exchange: &'a RequestContext,
    pub(super) entry: &'a RegisteredTool,
    pub(super) name: &'a str,
    /// The hints of this call, if the tool's effect depends on its arguments.
    pub(super) foreseen: Option<Hints>,
    /// State for the next round of this call.
    pub(super) carried: CarriedState,
}

impl<'a> CallEncoder<'a> {
    pub(super) fn having_foreseen(self, without_key: Hints, has_key: bool) -> Self {
        let hints = self.entry.of_keyed(EffectiveHints::resolved(without_key), has_key).hints;
        Self { foreseen: self.entry.is_dynamic().then_some(hints), ..self }
    }

    /// Records that the call starts with an approval, if it does; an earlier round may have used it up.
    pub(super) fn approved(mut self, approved: bool) -> Self {
        self.carried.approved |= approved;
        self
    }

    /// Returns a refusal as a result, not as a protocol error, so that the model can fix invalid arguments (SEP-1303).
    pub(super) fn refused(&self, error: ToolError) -> Answer {
        self.result(error.by_server().into_result(self.name), None)
    }

    pub(super) fn ended(&self, ended: HandlerResult) -> DispatchResult {
        match ended {
            HandlerResult::Result { result, .. } => Ok(self.result(result, None)),
            HandlerResult::Unasked(error) => Err(error),
            HandlerResult::Panicked | HandlerResult::Asks(_) => Ok(self.refused(panicked())),
        }
    }

    pub(super) fn told(&self, told: Outcome, binding: &RequestBinding<'_>) -> DispatchResult {
        let (engine, exchange) = (self.engine, self.exchange);
        match told {
            Outcome::Result { result, mark } => Ok(self.result(result, Some(&mark))),
            Outcome::Replay { kept, mark } => Ok(self.replay(kept, &mark).replayed()),
            Outcome::Asks { questions, resumes } if exchange.era() == Era::Modern => {
                if let Err(unable) = questions.answerable_by(&exchange.client)
                    && let Some(error) = unable.protocol_error(Era::Modern)
                {
                    return Err(error);
                }
                Ok(asking::ask(engine, exchange, binding, questions, Some(resumes), self.carried))
            }
            Outcome::Asks { .. } => Ok(self.refused(words::waits_elsewhere())),
            Outcome::Refused(error) => Ok(self.refused(error)),
            Outcome::Failed(error) => Err(error),
        }
    }

    /// Encodes a result, new or stored, in a form that this client supports.
    fn result(&self, mut result: CallToolResult, mark: Option<&RecordNote>) -> Answer {
        let mut omitted = None;
        if let Some(raw) = result.structured_content.take() {
            let structure = self.structure(raw.get());
            omitted = self.repeated(&result.content, &raw).map(|boxed| match structure {
                Structure::AsItIs if boxed => {
                    json!({"textOmitted": true, "box": candor_schema::BOX_FIELD})
                }
                _ => json!({"textOmitted": true}),
            });
            result.structured_content = match structure {
                Structure::AsItIs => Some(raw),
                Structure::Boxed => unboxed(&raw),
                Structure::NotForThisEra => None,
            };
        }
        if omitted.is_some() {
            result.content.clear();
        }
        Publisher::to(&self.exchange.client).blocks(&mut result.content);
        result.meta = self.noted(result.meta, mark);
        if let Some(omitted) = omitted {
            let meta = result.meta.take().unwrap_or_default();
            result.meta = Some(meta.with(extension::STRUCTURED_CONTENT, &omitted));
        }
        self.engine.complete(self.exchange, result)
    }

    /// Encodes a stored result. Most can be sent as stored, without decoding them.
    fn replay(&self, mut kept: Object, mark: &RecordNote) -> Answer {
        let structure = kept.get("structuredContent").map(|json| self.structure(json.text()));
        let fits = matches!(structure, None | Some(Structure::AsItIs));
        let content = kept.get("content").map(Json::text).unwrap_or_default();
        let embeds = content.contains(EMBEDDED);
        let may_omit = content.len() >= LARGE_TEXT && self.reads_structured_content();
        if fits
            && !embeds
            && !may_omit
            && let Ok(meta) = kept.take_object("_meta")
        {
            let body = StoredStructure { members: kept, meta: self.noted(meta, Some(mark)) };
            return self.engine.complete(self.exchange, body);
        }
        match CallToolResult::from_object(kept) {
            Ok(result) => self.result(result, Some(mark)),
            Err(_) => self.refused(words::unreadable()),
        }
    }

    /// Returns true if the client declares that it reads structured content, so that text which repeats it is not needed.
    fn reads_structured_content(&self) -> bool {
        let extensions = self.exchange.client.capabilities.extensions.as_ref();
        self.exchange.era() == Era::Modern
            && extensions.is_some_and(|known| known.contains_key(extension::STRUCTURED_CONTENT))
    }

    /// Returns `Some` if the content may be omitted, because it is large and only repeats structured content. The value is true if
    /// it repeats the value inside the box.
    fn repeated(&self, content: &[Content], structured: &RawValue) -> Option<bool> {
        if weight::of_content(content) < LARGE_TEXT || !self.reads_structured_content() {
            return None;
        }
        let is = |value: &RawValue| {
            let texts = Content::texts_of(value);
            texts.len() == content.len()
                && content.iter().zip(&texts).all(|(block, text)| is_plain(block, text))
        };
        if unboxed(structured).is_some_and(|value| is(&value)) {
            return Some(true);
        }
        is(structured).then_some(false)
    }

    /// Returns the form of structured content that this client supports.
    fn structure(&self, text: &str) -> Structure {
        match self.exchange.era() {
            Era::Modern if self.engine.parts().form.native_output && self.entry.boxed => {
                Structure::Boxed
            }
            // Up to 2025-11-25 structured content is an object or absent; the text has the same data.
            Era::Legacy if !text.starts_with('{') => Structure::NotForThisEra,
            _ => Structure::AsItIs,
        }
    }

    /// Adds the server's own metadata to a result's metadata.
    fn noted(&self, meta: Option<Object>, mark: Option<&RecordNote>) -> Option<Object> {
        let foreseen = self.foreseen.map(|hints| {
            json!({"annotations": effects::annotations(hints), "effect": hints.effect().as_str()})
        });
        // A replay runs nothing, so it reports no approval.
        let approved = self.carried.approved && mark.is_some_and(|mark| !mark.is_replay());
        if foreseen.is_none() && mark.is_none() {
            return meta;
        }
        let mut meta = meta.unwrap_or_default();
        if let Some(foreseen) = foreseen {
            meta = meta.with(extension::DYNAMIC_ANNOTATIONS, &foreseen);
        }
        if let Some(mark) = mark {
            meta = meta.with(extension::IDEMPOTENCY, mark);
        }
        if approved {
            meta = meta.with(extension::APPROVAL, &json!({"approved": true}));
        }
        Some(meta)
    }
}

/// The size in bytes from which repeated text is omitted, for clients that read structured content.
const LARGE_TEXT: usize = 64_000;

/// Returns true if a block is this text and nothing else.
fn is_plain(block: &Content, text: &str) -> bool {
    matches!(block, Content::Text(block) if block.text == text
        && block.annotations.is_none() && block.meta.is_none() && block.extra.is_empty())
}

/// How structured content is sent.
enum Structure {
    AsItIs,
    /// The value without the box that other clients need around it.
    Boxed,
    NotForThisEra,
}

/// Marks an embedded resource in JSON that this server wrote.
const EMBEDDED: &str = r#""type":"resource""#;

/// A stored result, with its metadata apart.
struct StoredStructure {
    members: Object,
    meta: Option<Object>,
}

impl Members for StoredStructure {
    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (key, value) in self.members.iter() {
            map.serialize_entry(key, &value)?;
        }
        self.meta.as_ref().map_or(Ok(()), |meta| map.serialize_entry("_meta", meta))
    }
}

impl Body for StoredStructure {
    fn meta(&mut self) -> &mut Option<Object> {
        &mut self.meta
    }

    fn weight(&self) -> usize {
        self.members.iter().map(|(_, value)| value.text().len()).sum()
    }
}

/// Returns the value inside a box.
fn unboxed(raw: &RawValue) -> Option<Box<RawValue>> {
    let boxed = Object::decode(raw.into()).ok()?;
    boxed.get(candor_schema::BOX_FIELD).map(Json::to_raw)
}
