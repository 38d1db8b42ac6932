//! Encodes what the client of a call receives.

use candor_engine::tool::{ToolError, hint_annotations};
use candor_engine::{CallEnd, ClientInfo, Outcome, PendingQuestions, RecordNote, Refusal, weight};
use candor_hints::Hints;
use candor_protocol::json::{Decode, Json, Object, RawValue};
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolResult, Content, InputRequired};
use candor_protocol::{Era, Members, Message};
use serde::ser::SerializeMap;
use serde_json::json;

use super::answer::{Answer, Body};
use super::error::{of_refusal, unanswerable};
use super::list::{complete, input_required};
use super::resource::Publisher;
use crate::rpc::context::RequestContext;

/// Encodes the outcome of a call.
pub(crate) fn outcome(
    request: &RequestContext,
    tool: &str,
    outcome: Outcome,
) -> Result<Answer, ErrorObject> {
    let native = request.server.listing().native_output;
    let form = ResultForm::new(request.client(), native, &outcome);
    let encoder = CallEncoder { request, tool, form };
    match outcome.end {
        CallEnd::Done { result, note, .. } => Ok(encoder.result(result, note.as_ref())),
        CallEnd::Replayed { members, note } => Ok(encoder.replay(members, &note).replayed()),
        CallEnd::Questions(questions) => Ok(ask(request, questions)),
        CallEnd::Unanswerable(error) => {
            match error.unanswered().filter(|_| request.era() == Era::Modern).and_then(unanswerable)
            {
                Some(error) => Err(error),
                None => Ok(encoder.refused(error)),
            }
        }
        CallEnd::Refused(refusal) => match of_refusal(&refusal) {
            Some(error) => Err(error),
            None => Ok(encoder.refused(refusal.into())),
        },
    }
}

/// Encodes a refusal that no call reached, as a result.
pub(crate) fn refused(request: &RequestContext, tool: &str, refusal: Refusal) -> Answer {
    complete(request, ToolError::from(refusal).into_result(tool))
}

/// Encodes questions to the client.
pub(crate) fn ask(request: &RequestContext, questions: PendingQuestions) -> Answer {
    let mut result = InputRequired::new();
    result.input_requests = Some(questions.requests);
    result.request_state = Some(questions.state);
    input_required(request, result)
}

/// What encoding needs: the request, the tool, and what is known of the call.
#[derive(Clone, Copy)]
struct CallEncoder<'a> {
    request: &'a RequestContext,
    tool: &'a str,
    form: ResultForm<'a>,
}

impl CallEncoder<'_> {
    /// Returns a refusal as a result, not as a protocol error, so that the model can fix invalid arguments (SEP-1303).
    fn refused(&self, error: ToolError) -> Answer {
        self.result(error.into_result(self.tool), None)
    }

    fn result(&self, result: CallToolResult, note: Option<&RecordNote>) -> Answer {
        complete(self.request, self.form.shape(result, note))
    }

    /// Encodes a stored result. Most can be sent as stored, without decoding them.
    fn replay(&self, mut stored: Object, note: &RecordNote) -> Answer {
        if self.form.fits(&stored)
            && let Ok(meta) = stored.take_object("_meta")
        {
            let meta = self.form.noted(meta, Some(note));
            return complete(self.request, StoredStructure { members: stored, meta });
        }
        match CallToolResult::from_object(stored) {
            Ok(result) => self.result(result, Some(note)),
            Err(_) => self.refused(Refusal::ResultUnreadable.into()),
        }
    }
}

/// The form in which a client gets the results of a call: JSON-RPC and REST use the same.
#[derive(Debug, Clone, Copy)]
pub struct ResultForm<'a> {
    client: &'a ClientInfo,
    /// Whether results that are not objects are sent as they are.
    native_output: bool,
    /// The hints of this call, if the tool's effect depends on its arguments.
    effect: Option<Hints>,
    boxed: bool,
    approved: bool,
}

impl<'a> ResultForm<'a> {
    /// Returns the form of the results of a call, for its client.
    #[must_use]
    pub fn new(client: &'a ClientInfo, native_output: bool, outcome: &Outcome) -> Self {
        let &Outcome { effect, boxed, approved, .. } = outcome;
        Self { client, native_output, effect, boxed, approved }
    }

    fn era(&self) -> Era {
        self.client.revision.era()
    }

    /// Returns a result, new or stored, in a form that this client supports.
    #[must_use]
    pub fn shape(&self, mut result: CallToolResult, note: Option<&RecordNote>) -> CallToolResult {
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
        Publisher::to(self.client).blocks(&mut result.content);
        result.meta = self.noted(result.meta, note);
        if let Some(omitted) = omitted {
            let meta = result.meta.take().unwrap_or_default();
            result.meta = Some(meta.with(extension::STRUCTURED_CONTENT, &omitted));
        }
        result
    }

    /// Returns true if a stored result can be sent as it is stored.
    fn fits(&self, stored: &Object) -> bool {
        let structure = stored.get("structuredContent").map(|json| self.structure(json.text()));
        let content = stored.get("content").map(Json::text).unwrap_or_default();
        let may_omit = content.len() >= LARGE_TEXT && self.reads_structured_content();
        matches!(structure, None | Some(Structure::AsItIs))
            && !content.contains(EMBEDDED)
            && !may_omit
    }

    /// Returns true if the client declares that it reads structured content, so that text which repeats it is not needed.
    fn reads_structured_content(&self) -> bool {
        let extensions = self.client.capabilities.extensions.as_ref();
        self.era() == Era::Modern
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
        match self.era() {
            Era::Modern if self.native_output && self.boxed => Structure::Boxed,
            // Up to 2025-11-25 structured content is an object or absent; the text has the same data.
            Era::Legacy if !text.starts_with('{') => Structure::NotForThisEra,
            _ => Structure::AsItIs,
        }
    }

    /// Adds the server's own metadata to a result's metadata.
    fn noted(&self, meta: Option<Object>, mark: Option<&RecordNote>) -> Option<Object> {
        let foreseen = self.effect.map(|hints| {
            json!({"annotations": hint_annotations(hints), "effect": hints.effect().as_str()})
        });
        // A replay runs nothing, so it reports no approval.
        let approved = self.approved && mark.is_some_and(|mark| !mark.is_replay());
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
