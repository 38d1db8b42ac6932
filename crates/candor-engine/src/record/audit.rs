//! Audit rows of calls: caller, tool, effect and outcome. A row has the types of the arguments and a keyed digest, which cannot be
//! used to test values. It has values only if the tool's author allows it.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor_hints::EffectiveHints;
use candor_ledger::{AuditContext, AuditRow, CallNote, Key, Moment, Scope};
use candor_protocol::Principal;
use candor_protocol::types::Implementation;
use serde_json::Value;

use super::{AuditEnd, EvaluatedCall};
use crate::caller::ClientInfo;
use crate::display::{RecordedEffect, when};

/// Maximum bytes of stored argument types. The caller chooses how much it sends, not how much the server stores.
const LONGEST: usize = 2048;

/// Maximum nesting of stored argument types.
const DEEPEST: usize = 3;

/// Maximum characters of an argument's name.
const LONGEST_NAME: usize = 64;

/// Maximum characters of a recorded value.
const LONGEST_TEXT: usize = 256;

/// Maximum number of rows in memory, for calls without a durable row: an operator reads no more.
const REMEMBERED: usize = 1000;

/// Maximum number of cached client names, and maximum bytes of a cached client description: most servers have a few clients, which
/// report little.
const CLIENTS: usize = 8;
const SHORT: usize = 1024;

/// Which calls leave a durable row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audit {
    /// Calls that have a key or may change data, replays, and refusals. Memory holds the last thousand others: calls that only
    /// read, and refusals that only mean "retry later".
    #[default]
    Writes,
    /// All calls.
    All,
}

/// The calls whose arguments the ledger stores for operators, with secrets redacted, for as long as it stores results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeepArguments {
    /// Those that a reviewer approved or denied.
    #[default]
    Decided,
    /// Also those with a key that start without a review.
    All,
    /// None. A pending request holds them in any case.
    None,
}

/// Returns the arguments without their values: names, types, lengths. Arguments that are named in `recorded` keep their values.
fn shape(arguments: &Value, recorded: &[String]) -> String {
    let mut text = String::with_capacity(128);
    kind(&mut text, arguments, recorded, DEEPEST + 1);
    text
}

fn kind(text: &mut String, value: &Value, recorded: &[String], levels: usize) {
    // Avoids formatting where possible, because this runs for every call.
    let mut counted = |kind: &str, count: usize| {
        text.push_str(kind);
        let _ = write!(text, "{count})\"");
    };
    match value {
        Value::Null => text.push_str("\"null\""),
        Value::Bool(_) => text.push_str("\"boolean\""),
        Value::Number(number) if number.is_f64() => text.push_str("\"number\""),
        Value::Number(_) => text.push_str("\"integer\""),
        Value::String(string) => counted("\"string(", string.chars().count()),
        Value::Array(items) => counted("\"array(", items.len()),
        Value::Object(members) if levels == 0 => counted("\"object(", members.len()),
        Value::Object(members) => {
            text.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                if text.len() > LONGEST {
                    text.push_str("\"…\":\"…\"");
                    break;
                }
                quote(text, name);
                text.push(':');
                if recorded.iter().any(|allowed| allowed == name) {
                    let _ = write!(text, "{{\"=\":{}}}", shown(value));
                } else {
                    kind(text, value, &[], levels - 1);
                }
            }
            text.push('}');
        }
    }
}

/// Writes a name. Plain names take a fast path, because this runs for every call.
fn quote(text: &mut String, name: &str) {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.len() <= LONGEST_NAME && name.bytes().all(plain) {
        text.push('"');
        text.push_str(name);
        text.push('"');
        return;
    }
    let cut: String = name.chars().take(LONGEST_NAME).collect();
    text.push_str(&Value::String(cut).to_string());
}

/// Returns a value that may be recorded, shortened if it is long.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            let cut: String = text.chars().take(LONGEST_TEXT).collect();
            Value::String(format!("{cut}…")).to_string()
        }
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() > LONGEST_TEXT { "\"…\"".to_owned() } else { text }
        }
        other => other.to_string(),
    }
}

/// The last calls that left no durable row.
#[derive(Default)]
pub(super) struct RecentCalls(Mutex<Ring>);

#[derive(Default)]
struct Ring {
    last: u64,
    rows: VecDeque<(u64, Moment, Row)>,
}

/// The data of an audit row. Its texts are built only when they are needed: most rows are dropped before.
pub(super) struct Row {
    pub(super) principal: Principal,
    pub(super) tool: String,
    pub(super) key: Option<Key>,
    pub(super) known: CallContext,
    pub(super) ended: AuditEnd,
}

/// What is known of a call before it runs. All audit rows of the call contain it.
#[derive(Clone)]
pub(super) struct CallContext {
    client: Option<Arc<str>>,
    shape: String,
    effect: EffectiveHints,
    /// The grant that replaced an approval.
    permitted: Option<String>,
}

impl CallContext {
    pub(super) fn of(call: &EvaluatedCall<'_>, clients: &Clients) -> Self {
        Self {
            client: clients.name(&call.request.caller.client),
            shape: shape(call.arguments.as_value(), call.entry.recorded()),
            effect: call.effect(),
            permitted: None,
        }
    }

    pub(super) fn permitted(self, by: Option<String>) -> Self {
        Self { permitted: by, ..self }
    }

    pub(super) fn client(&self) -> Option<Arc<str>> {
        self.client.clone()
    }

    /// Returns the texts, without the digest, which costs more than all the rest of a replay.
    pub(super) fn summary(&self) -> AuditContext {
        let said: Vec<_> =
            self.client.as_deref().into_iter().chain(self.permitted.as_deref()).collect();
        AuditContext {
            shape: Some(self.shape.as_str().into()),
            hints: Some(RecordedEffect::stored(self.effect).into()),
            note: (!said.is_empty()).then(|| said.join(", ").into()),
            ..AuditContext::default()
        }
    }
}

/// The names of recent clients, by their descriptions. Both are copies, so the cache holds no request in memory.
#[derive(Default)]
pub(super) struct Clients(Mutex<VecDeque<(Box<str>, Arc<str>)>>);

impl Clients {
    /// Returns the name of a client, if it describes itself.
    fn name(&self, client: &ClientInfo) -> Option<Arc<str>> {
        let said = client.info_json()?;
        if said.len() > SHORT {
            return client.info().map(|info| named(&info).into());
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, name)) = known.iter().find(|(known, _)| **known == *said) {
            return Some(Arc::clone(name));
        }
        let name: Arc<str> = named(&client.info()?).into();
        known.truncate(CLIENTS - 1);
        known.push_front((said.into(), Arc::clone(&name)));
        Some(name)
    }
}

impl RecentCalls {
    pub(super) fn push(&self, call: Row) {
        let at = when::now();
        let mut ring = self.lock();
        ring.last += 1;
        let number = ring.last;
        if ring.rows.len() == REMEMBERED {
            ring.rows.pop_front();
        }
        ring.rows.push_back((number, at, call));
    }

    /// Returns the rows, newest first.
    pub(super) fn rows(&self, server: &str, instance: &str) -> Vec<Arc<AuditRow>> {
        let row = |(seq, at, call): &(u64, Moment, Row)| {
            Arc::new(AuditRow { seq: *seq, ..AuditRow::of_note(call.note(server, instance), *at) })
        };
        self.lock().rows.iter().rev().map(row).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Row {
    pub(super) fn of(call: &EvaluatedCall<'_>, known: CallContext, ended: AuditEnd) -> Self {
        let principal = call.request.caller.principal.clone();
        Self { principal, tool: call.entry.name().to_owned(), key: None, known, ended }
    }

    pub(super) fn note(&self, server: &str, instance: &str) -> CallNote {
        let AuditEnd { event, outcome, duration } = self.ended;
        CallNote {
            scope: Scope {
                principal: self.principal.as_str().to_owned(),
                server: server.to_owned(),
                instance: instance.to_owned(),
                tool: self.tool.clone(),
            },
            key: self.key.clone(),
            event: event.to_owned(),
            outcome,
            circumstances: AuditContext { duration, ..self.known.summary() },
        }
    }
}

/// Returns the name and the version that a client reports.
fn named(client: &Implementation) -> String {
    let cut = |text: &str| text.chars().take(100).collect::<String>();
    format!("{} {}", cut(&client.name), cut(&client.version))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::Revision;
    use candor_protocol::json::{Decode as _, Object, raw};
    use candor_protocol::names::meta;
    use candor_protocol::types::ClientCapabilities;
    use serde_json::json;

    #[test]
    fn shape_has_names_and_types_and_only_allowed_values() {
        let arguments = json!({
            "name": "Ada", "amount": 4200, "rate": 0.5, "vip": true, "tags": ["a", "b"], "none": null,
            "address": {"street": {"no": {"secret": {"deep": 1}}}},
        });
        let shape = shape(&arguments, &["amount".to_owned()]);
        let read: Value = serde_json::from_str(&shape).unwrap();
        assert_eq!(
            read,
            json!({
                "name": "string(3)", "amount": {"=": 4200}, "rate": "number", "vip": "boolean", "tags": "array(2)",
                "none": "null", "address": {"street": {"no": {"secret": "object(1)"}}},
            })
        );
        assert!(!shape.contains("Ada"));
    }

    #[test]
    fn client_names_are_cached_up_to_a_bound() {
        let clients = Clients::default();
        let client = |name: &str| {
            let capabilities = ClientCapabilities::new();
            ClientInfo::new(Revision::LATEST_LEGACY, capabilities, &Implementation::new(name, "1"))
        };
        for n in 0..50 {
            for _ in 0..2 {
                let name = clients.name(&client(&format!("probe-{n}"))).unwrap();
                assert_eq!(&*name, format!("probe-{n} 1"));
            }
        }
        let long = "x".repeat(SHORT);
        assert_eq!(&*clients.name(&client(&long)).unwrap(), format!("{} 1", &long[..100]));
        assert_eq!(clients.0.lock().unwrap().len(), CLIENTS);
        let meta = json!({meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {}});
        let silent = Object::decode((&*raw(&meta)).into()).unwrap();
        let silent =
            ClientInfo::in_meta(Revision::V2026_07_28, ClientCapabilities::new(), Arc::new(silent));
        assert_eq!(clients.name(&silent), None);
    }

    #[test]
    fn shape_length_is_bounded() {
        let many: serde_json::Map<_, _> =
            (0..100_000).map(|n| (format!("name-{n}"), json!("x".repeat(1000)))).collect();
        let text = shape(&Value::Object(many), &[]);
        assert!(text.len() < LONGEST + 200, "{}", text.len());
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        let long = shape(&json!({"a": "x".repeat(1_000_000)}), &["a".to_owned()]);
        assert!(long.len() < 400);
    }
}
