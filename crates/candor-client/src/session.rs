//! A session with one server: its era, its capabilities, and the transport to it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use candor_protocol::json::{Object, RawValue, raw};
use candor_protocol::names::{extension, meta, method, notification};
use candor_protocol::rpc::{ErrorObject, RequestId, code, write_notification, write_request};
use candor_protocol::types::{
    DiscoverResult, Implementation, InitializeParams, InitializeResult, ServerCapabilities,
};
use candor_protocol::{Era, Revision};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::connect::{ClientLimits, ConnectTarget};
use crate::error::Error;
use crate::host::{Host, ProgressFn};
use crate::link::http::{Endpoint, Http, Mode};
use crate::link::pipe::Pipe;
use crate::link::{Link, Outgoing, child};
use crate::members::{DecodeObject as _, locked, members_of, quoted};
use crate::unsent::RunningRequest;

/// How long the client waits for the stream of a legacy server: some servers send no response before their first message.
const UNTIL_HEARD: Duration = Duration::from_millis(500);

/// A server, after the handshake.
#[derive(Debug)]
pub(crate) struct Session {
    link: Link,
    pub(crate) revision: Revision,
    pub(crate) server: Option<Implementation>,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    host: Arc<Host>,
    limits: ClientLimits,
    /// The `_meta` members of each modern request.
    introduction: Vec<(&'static str, Box<RawValue>)>,
    ids: AtomicU64,
    /// The server does not have `resources/metadata`.
    lacks_metadata: AtomicBool,
    /// The server answered `resources/metadata` in a way that proves that it has the method.
    has_metadata: AtomicBool,
    /// Whether the server honors `uri` in `resources/list`, once known.
    scopes_lists: OnceLock<bool>,
}

/// A request before it has an id and a wire format.
#[derive(Default)]
pub(crate) struct OutgoingRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Object,
    /// Additional members of `_meta`.
    pub(crate) meta: Object,
    pub(crate) name: Option<&'a str>,
    pub(crate) mirrored: &'a [(String, String)],
    pub(crate) key: Option<&'a str>,
    pub(crate) progress: Option<ProgressFn>,
    /// Replaces the usual timeout.
    pub(crate) timeout: Option<Duration>,
    /// Waits without a limit, for a request that has no end.
    pub(crate) endless: bool,
    /// A listener's request. The breaker neither counts nor stops it: it reconnects at its own pace.
    pub(crate) listens: bool,
    /// Whether the request may be resent if only the server says that nothing was run.
    pub(crate) resend: Resend<'a>,
    /// Set for a call: counts how often it was resent in a new session.
    pub(crate) resends: Option<&'a AtomicU64>,
    /// The request may change data. It must not fail with an error that wrongly says that nothing was run.
    pub(crate) writes: bool,
    /// The entry of this request among the running ones, so that a question on its stream is known to be about it.
    pub(crate) running: Option<&'a RunningRequest<'a>>,
    /// Receives the id before the request is sent.
    pub(crate) named: Option<&'a (dyn Fn(&RequestId) + Send + Sync)>,
}

/// How often a request may be resent if only the server says that nothing was run.
#[derive(Default)]
pub(crate) enum Resend<'a> {
    #[default]
    Freely,
    /// Once, for a call that is not safe to retry. The flag is set by the resend.
    Once(&'a AtomicBool),
    Never,
}

impl<'a> OutgoingRequest<'a> {
    pub(crate) fn new(method: &'a str, params: Object) -> Self {
        Self { method, params, ..Self::default() }
    }

    /// Returns true if the request may be resent although only the server says that nothing was run. Uses up the resend of
    /// [`Resend::Once`].
    pub(crate) fn may_resend(&self) -> bool {
        match self.resend {
            Resend::Freely => true,
            Resend::Once(resent) => !resent.swap(true, Ordering::AcqRel),
            Resend::Never => false,
        }
    }
}

impl Session {
    /// Connects to a server and performs the handshake.
    pub(crate) async fn open(
        target: &ConnectTarget,
        era: Option<Era>,
        info: &Implementation,
        host: &Arc<Host>,
        limits: &ClientLimits,
    ) -> Result<Self, Error> {
        let introduction = introduction(info, host);
        let new = |link| Self {
            link,
            revision: Revision::V2026_07_28,
            server: None,
            capabilities: ServerCapabilities::new(),
            instructions: None,
            host: host.clone(),
            limits: limits.clone(),
            introduction: introduction.clone(),
            ids: AtomicU64::new(1),
            lacks_metadata: AtomicBool::new(false),
            has_metadata: AtomicBool::new(false),
            scopes_lists: OnceLock::new(),
        };
        let mut session = new(link(target, host, limits)?);
        let mut silent = false;
        if era != Some(Era::Legacy) {
            match session.discover().await {
                Ok(()) => return Ok(session),
                Err(ProbeResult::Failed(error)) => return Err(error),
                Err(ProbeResult::Legacy(why)) if era == Some(Era::Modern) => return Err(why),
                Err(ProbeResult::Legacy(why)) => {
                    tracing::debug!(%why, "no answer of the modern era; trying the legacy one");
                    silent = matches!(why, Error::TimedOut { .. });
                }
            }
            // A program may have exited because of a request that it does not know.
            if !session.link.is_alive() {
                session = new(link(target, host, limits)?);
            }
        }
        match session.initialize(info).await {
            // The server is not legacy but was slow, such as a program that was first downloaded or compiled.
            Err(error @ Error::Server(_)) if silent => {
                session.revision = Revision::V2026_07_28;
                session.discover().await.map_err(|_| error)?;
            }
            done => done?,
        }
        Ok(session)
    }

    pub(crate) fn era(&self) -> Era {
        self.revision.era()
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.link.is_alive()
    }

    /// Returns true if the server reports changes of its list of tools, and the client receives them.
    pub(crate) fn tells_of_tools(&self) -> bool {
        self.era() == Era::Legacy
            && self.capabilities.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true)
            && self.link.hears()
    }

    pub(crate) async fn close(&self) {
        self.link.close().await;
    }

    /// Returns the settings of an extension, if the server declares it.
    pub(crate) fn extension(&self, id: &str) -> Option<&Object> {
        self.capabilities.extensions.as_ref()?.get(id)
    }

    /// Returns true if the server recognizes a retry by its key.
    pub(crate) fn knows_keys(&self) -> bool {
        self.extension(extension::IDEMPOTENCY).is_some()
    }

    /// Returns true if the server declares Candor's whole resource extension.
    pub(crate) fn has_resource_extension(&self) -> bool {
        self.extension(extension::RESOURCE).is_some()
    }

    pub(crate) fn lacks_metadata(&self) -> bool {
        self.lacks_metadata.load(Ordering::Relaxed)
    }

    pub(crate) fn has_metadata(&self) -> bool {
        self.has_metadata.load(Ordering::Relaxed)
    }

    pub(crate) fn note_metadata(&self) {
        self.has_metadata.store(true, Ordering::Relaxed);
    }

    pub(crate) fn note_no_metadata(&self) {
        self.lacks_metadata.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server honors `uri` in `resources/list`, or `None` if that is not yet known.
    pub(crate) fn scopes_lists(&self) -> Option<bool> {
        self.scopes_lists.get().copied().or(self.has_resource_extension().then_some(true))
    }

    pub(crate) fn note_scoping(&self, scopes: bool) {
        let _ = self.scopes_lists.set(scopes);
    }

    /// Sends a request and waits for its result.
    pub(crate) async fn request(&self, wish: &OutgoingRequest<'_>) -> Result<Box<RawValue>, Error> {
        let id = RequestId::from(self.ids.fetch_add(1, Ordering::Relaxed));
        let timeout = wish.timeout.unwrap_or(self.limits.answer);
        let body = self.written(&id, wish);
        if let Some(running) = wish.running {
            running.goes_out_as(&id);
        }
        if let Some(named) = wish.named {
            named(&id);
        }
        let activity = Arc::new(AtomicU64::new(0));
        let begun = Instant::now();
        let following = wish.progress.clone().map(|progress| {
            let activity = activity.clone();
            self.host.follow(
                &id,
                Arc::new(move |news| {
                    let since = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                    activity.store(since, Ordering::Relaxed);
                    progress(news);
                }),
            )
        });
        let outgoing = Outgoing {
            id,
            method: wish.method,
            body,
            name: wish.name,
            mirrored: wish.mirrored,
            key: wish.key,
        };
        let request = self.link.request(outgoing);
        if wish.endless {
            return request.await;
        }
        tokio::pin!(request);
        let longest = self.limits.answer_at_most.max(timeout);
        let mut until = begun + timeout;
        let answer = loop {
            match tokio::time::timeout_at(until.into(), &mut request).await {
                Ok(answer) => break answer,
                Err(_) => {
                    // Progress extends the time, up to a limit.
                    let last = Duration::from_millis(activity.load(Ordering::Relaxed));
                    let more = (begun + last + timeout).min(begun + longest);
                    if more <= until {
                        break Err(Error::TimedOut { after: until - begun });
                    }
                    until = more;
                }
            }
        };
        drop(following);
        answer
    }

    pub(crate) async fn notify(&self, method: &str, params: &Object) -> Result<(), Error> {
        let after = self.limits.answer;
        let notified = self.link.notify(method, write_notification(method, params));
        tokio::time::timeout(after, notified).await.map_err(|_| Error::TimedOut { after })?
    }

    fn written(&self, id: &RequestId, wish: &OutgoingRequest<'_>) -> Vec<u8> {
        let modern = self.era() == Era::Modern;
        let params = Params {
            members: &wish.params,
            introduction: if modern { &self.introduction } else { &[] },
            meta: &wish.meta,
            token: wish.progress.is_some().then_some(id),
        };
        write_request(id, wish.method, &params)
    }

    /// Performs the modern handshake.
    async fn discover(&mut self) -> Result<(), ProbeResult> {
        let mut wish = OutgoingRequest::new(method::DISCOVER, Object::new());
        // Over HTTP, any server answers in some way. A program may not answer a request that it does not know.
        wish.timeout = Some(match self.link {
            Link::Pipe(_) => self.limits.probe,
            Link::Http(_) => (self.limits.connect + self.limits.probe).min(self.limits.answer),
        });
        let answer = match self.request(&wish).await {
            // The server refuses the revision, but names it as supported. A proxy or an outdated replica may have answered, so try
            // again.
            Err(Error::Server(told)) if names(&told, |spoken| spoken == Revision::V2026_07_28) => {
                self.request(&wish).await
            }
            answer => answer,
        };
        let answer = answer.map_err(ProbeResult::by)?;
        let result = match members_of(&answer).and_then(|m| DiscoverResult::decode_object(&m)) {
            Ok(result) => result,
            Err(problem) => return Err(ProbeResult::Legacy(Error::protocol(problem))),
        };
        if !result.supported_versions.iter().any(|v| v == Revision::V2026_07_28.as_str()) {
            let versions = quoted(&result.supported_versions.join(", "));
            return Err(ProbeResult::Legacy(Error::protocol(format!("it speaks {versions}"))));
        }
        let said = result.meta.as_ref().and_then(|m| m.read(meta::SERVER_INFO).ok().flatten());
        self.server = said;
        self.capabilities = result.capabilities;
        self.instructions = result.instructions;
        Ok(())
    }

    /// Performs the legacy handshake.
    async fn initialize(&mut self, info: &Implementation) -> Result<(), Error> {
        let can = self.host.capabilities();
        let params = InitializeParams::new(Revision::LATEST_LEGACY.as_str(), can, info.clone());
        let params = members_of(&raw(&params)).map_err(Error::protocol)?;
        self.revision = Revision::LATEST_LEGACY;
        let wish = OutgoingRequest::new(method::INITIALIZE, params);
        let (answer, session_id) = match &self.link {
            Link::Pipe(pipe) => {
                let answer = self.request(&wish).await;
                (answer.map_err(|error| pipe.explained(error))?, None)
            }
            Link::Http(http) => {
                let opening = http.opening();
                let id = RequestId::from(self.ids.fetch_add(1, Ordering::Relaxed));
                let body = self.written(&id, &wish);
                let outgoing = Outgoing {
                    id,
                    method: wish.method,
                    body,
                    name: None,
                    mirrored: &[],
                    key: None,
                };
                let opened = tokio::time::timeout(self.limits.answer, opening.opened(outgoing));
                opened.await.map_err(|_| Error::TimedOut { after: self.limits.answer })??
            }
        };
        let result = members_of(&answer)
            .and_then(|members| InitializeResult::decode_object(&members))
            .map_err(|problem| Error::protocol(format!("its answer to initialize: {problem}")))?;
        let revision = Revision::from_date(&result.protocol_version);
        self.revision = match revision.filter(|revision| revision.era() == Era::Legacy) {
            Some(revision) => revision,
            None => {
                return Err(Error::protocol(format!(
                    "it speaks revision {}, which this client does not support",
                    quoted(&result.protocol_version)
                )));
            }
        };
        self.server = Some(result.server_info);
        self.capabilities = result.capabilities;
        self.instructions = result.instructions;
        if let Link::Http(http) = &self.link {
            self.link = Link::Http(http.in_session(session_id, self.revision.as_str()));
        }
        self.notify(notification::INITIALIZED, &Object::new()).await?;
        if let Link::Http(http) = &self.link {
            let heard = http.listen();
            // Servers ask on this stream, even about a call that follows at once. Most servers lose a question that no client
            // receives.
            if self.host.is_asked() {
                let _ = tokio::time::timeout(UNTIL_HEARD, heard).await;
            }
        }
        Ok(())
    }
}

/// Why the modern handshake failed.
enum ProbeResult {
    /// The server is not modern: try the legacy handshake.
    Legacy(Error),
    /// The server is modern but the handshake failed, or the client cannot reach it at all.
    Failed(Error),
}

impl ProbeResult {
    fn by(error: Error) -> Self {
        match &error {
            Error::Unreachable { .. } | Error::Unauthorized { .. } | Error::NoToken { .. } => {
                Self::Failed(error)
            }
            Error::Server(told) => match told.code() {
                code::UNSUPPORTED_VERSION if names(told, |spoken| spoken.era() == Era::Legacy) => {
                    Self::Legacy(error)
                }
                code::UNSUPPORTED_VERSION
                | code::HEADER_MISMATCH
                | code::MISSING_CLIENT_CAPABILITY => Self::Failed(error),
                _ => Self::Legacy(error),
            },
            _ => Self::Legacy(error),
        }
    }
}

/// Returns true if a server that refuses the revision names a supported one that is `wanted`.
fn names(error: &ErrorObject, wanted: impl Fn(Revision) -> bool) -> bool {
    if error.code() != code::UNSUPPORTED_VERSION {
        return false;
    }
    let data = error.data.as_ref().and_then(|data| members_of(data).ok());
    let supported: Option<Vec<String>> =
        data.and_then(|data| data.read("supported").ok().flatten());
    supported.into_iter().flatten().filter_map(|version| Revision::from_date(&version)).any(wanted)
}

fn link(target: &ConnectTarget, host: &Arc<Host>, limits: &ClientLimits) -> Result<Link, Error> {
    match target {
        ConnectTarget::Url { url, bearer, headers } => {
            let endpoint = Endpoint::new(url, bearer, headers, limits)?;
            let version = Revision::V2026_07_28.as_str();
            Ok(Link::Http(Http::new(endpoint, Mode::Modern, version, host.clone(), limits.clone())))
        }
        ConnectTarget::Program(program) => {
            let (child, stdout, stdin) = child::start(program, limits)?;
            Ok(Link::Pipe(Pipe::open(stdout, stdin, Some(child), host, limits)))
        }
        ConnectTarget::Streams(streams) => match locked(streams).take() {
            Some((input, output)) => Ok(Link::Pipe(Pipe::open(input, output, None, host, limits))),
            None => Err(Error::Lost { why: "the streams have ended".to_owned(), sent: false }),
        },
    }
}

fn introduction(info: &Implementation, host: &Host) -> Vec<(&'static str, Box<RawValue>)> {
    vec![
        (meta::PROTOCOL_VERSION, raw(Revision::V2026_07_28.as_str())),
        (meta::CLIENT_INFO, raw(info)),
        (meta::CLIENT_CAPABILITIES, raw(&host.capabilities())),
    ]
}

/// Parameters with their `_meta`.
struct Params<'a> {
    members: &'a Object,
    introduction: &'a [(&'static str, Box<RawValue>)],
    meta: &'a Object,
    token: Option<&'a RequestId>,
}

struct Meta<'a, 'b>(&'b Params<'a>);

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.members.iter() {
            map.serialize_entry(name, &value)?;
        }
        if !self.introduction.is_empty() || !self.meta.is_empty() || self.token.is_some() {
            map.serialize_entry("_meta", &Meta(self))?;
        }
        map.end()
    }
}

impl Serialize for Meta<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.introduction {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in self.0.meta.iter() {
            map.serialize_entry(name, &value)?;
        }
        if let Some(token) = self.0.token {
            map.serialize_entry(meta::PROGRESS_TOKEN, token)?;
        }
        map.end()
    }
}
