//! The discovery REST API and the web console of an MCP server, as one axum router for any app.
//!
//! ```no_run
//! # async fn run(engine: candor_server::Engine) -> std::io::Result<()> {
//! use candor_console::Console;
//!
//! let console = Console::of(engine).title("Invoices").allow_execute();
//! println!("open http://127.0.0.1:7332/tools-console#token={}", console.launch_token());
//! let app = axum::Router::new().merge(console.mounted("/tools-console"));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7332").await?;
//! axum::serve(listener, app).await
//! # }
//! ```
//!
//! # The map
//!
//! | what | where |
//! |---|---|
//! | configuring a console | [`Console`] |
//! | a request, stage by stage | `serve` |
//! | what a path means | `route` |
//! | authentication and access | `guard`, `session` |
//! | which requests need capacity | `room` |
//! | error responses | `problem`; their IDs in the log: `trace` |
//! | JSON for programs | `rest`, a file for each subject |
//! | schemas as forms and tables | `form`, pure functions |
//! | pages for users | `ui`, a file for each page; `html` writes them, `assets/` is what browsers load |
//!
//! Every tool call goes through [`Visit`](candor_server::Visit), as calls over MCP do. Approvals and history cover the calls of all
//! servers, so they need only the shared ledger.

mod form;
mod guard;
mod html;
mod problem;
mod project;
mod rest;
mod room;
mod route;
mod serve;
mod session;
mod trace;
mod ui;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::routing::any;
use candor_server::auth::Authenticator;
use candor_server::store::Store;
use candor_server::transport::http::{AllowedHosts, Bodies, Capacity, Http};
use candor_server::{Engine, Limits};

use project::Project;
use session::LoginSessions;

/// A builder for a console.
#[must_use]
pub struct Console {
    inner: Inner,
    launch: String,
}

/// The state that every request needs.
pub(crate) struct Inner {
    /// The server whose tools and resources the console shows. `None` if it shows only a ledger.
    pub(crate) engine: Option<Engine>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) title: String,
    pub(crate) project: Option<Project>,
    pub(crate) allow_execute: bool,
    pub(crate) hosts: AllowedHosts,
    pub(crate) authenticator: Option<Arc<dyn Authenticator>>,
    /// Origins whose pages may use the API.
    pub(crate) origins: Vec<String>,
    /// The hash of the launch token, which gives operator access.
    pub(crate) launch: [u8; 32],
    pub(crate) sessions: LoginSessions,
    pub(crate) limits: Limits,
    pub(crate) bodies: Bodies,
    /// The capacity for requests and streams: the server's, or a separate one if the console shows only a ledger.
    pub(crate) rooms: Arc<Capacity>,
    /// True if callers are authenticated, so that each gets only a share of the capacity.
    pub(crate) shares: bool,
    pub(crate) lists: rest::tools::Lists,
    pub(crate) seen: rest::approvals::PendingCount,
    closing: Arc<AtomicBool>,
}

/// Tells a console that its process is about to end, so that it closes the event streams of open pages.
///
/// A console [of a server](Console::of) learns it from the server.
#[derive(Debug, Clone)]
pub struct Closing(Arc<AtomicBool>);

impl Closing {
    /// Marks the console as closing.
    pub fn close(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Console {
    /// Returns the console of a server.
    pub fn of(engine: Engine) -> Self {
        let title = engine.about().info.title.unwrap_or_else(|| engine.name().to_owned());
        let (store, limits) = (engine.store().cloned(), engine.limits().clone());
        // The authenticator of the server protects its console too.
        Self::new(Some(engine), store, title, limits).reached(&Http::default())
    }

    /// Returns a console of a ledger alone: approvals and history of every server that writes to it.
    pub fn of_ledger(store: Arc<dyn Store>) -> Self {
        Self::new(None, Some(store), "Candor".to_owned(), Limits::default())
    }

    fn new(
        engine: Option<Engine>,
        store: Option<Arc<dyn Store>>,
        title: String,
        limits: Limits,
    ) -> Self {
        let launch = session::random_token();
        let rooms = engine.as_ref().map(|engine| Arc::clone(engine.rooms()));
        let rooms = rooms.unwrap_or_else(|| Arc::new(Capacity::new(&limits)));
        let inner = Inner {
            engine,
            store,
            title,
            project: None,
            allow_execute: false,
            hosts: AllowedHosts::default(),
            authenticator: None,
            origins: Vec::new(),
            launch: session::hash(&launch),
            sessions: LoginSessions::default(),
            bodies: Bodies::new(&limits, Arc::clone(&rooms), false),
            rooms,
            shares: false,
            limits,
            lists: rest::tools::Lists::default(),
            seen: rest::approvals::PendingCount::default(),
            closing: Arc::default(),
        };
        Self { inner, launch }
    }

    /// Sets the title, which is otherwise the server's title or name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.inner.title = title.into();
        self
    }

    /// Names the project at the foot of every page. The URL becomes a link if it is `http`, `https`, `mailto` or a path of this host.
    pub fn project(mut self, name: impl Into<String>, url: Option<&str>) -> Self {
        self.inner.project = Some(Project::new(name.into(), url));
        self
    }

    /// Allows tool calls from the pages and through the API. Without this, the console only shows the tools.
    pub fn allow_execute(mut self) -> Self {
        self.inner.allow_execute = true;
        self
    }

    /// Sets the host names and the authenticator, the same as for the MCP endpoint beside it. If `http` has no authenticator, the
    /// server's own applies. With an authenticator, one caller gets at most half of the capacity, both endpoints together.
    pub fn reached(mut self, http: &Http) -> Self {
        self.inner.hosts = http.hosts.clone();
        let own = self.inner.engine.as_ref().and_then(Engine::authenticator);
        self.inner.authenticator = http.authenticator.as_ref().or(own).cloned();
        self.inner.shares = self.inner.authenticator.is_some();
        let rooms = Arc::clone(&self.inner.rooms);
        self.inner.bodies = Bodies::new(&self.inner.limits, rooms, self.inner.shares);
        self
    }

    /// Lets pages of another origin use the API: `https://example.org`. They must send a token, because cookies do not work for
    /// them.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.inner.origins.push(origin.into());
        self
    }

    /// Returns the token that gives operator access until the process ends. Put it into the fragment of the URL that an operator
    /// opens, `…/#token=…`, or into `Authorization: Bearer`.
    #[must_use]
    pub fn launch_token(&self) -> &str {
        &self.launch
    }

    /// Returns a handle to tell the console that the process is about to end.
    #[must_use]
    pub fn closing(&self) -> Closing {
        Closing(Arc::clone(&self.inner.closing))
    }

    /// Returns the routes below a path, to merge into another app: `/explorer` and `/explorer/` both serve the first page.
    ///
    /// This equals `nest_service` with [`router`](Self::router).
    pub fn mounted(self, base: &str) -> Router {
        match base.trim_end_matches('/') {
            "" => self.router(),
            base => Router::new().nest_service(base, self.router()),
        }
    }

    /// Returns the routes, for the root or for any prefix: `merge`, `nest_service("/admin", …)` or `nest("/admin", …)`.
    ///
    /// The console reads its prefix from each request, so all its links, redirects and cookies have it. `nest_service` and
    /// [`mounted`](Self::mounted) route both `/admin` and `/admin/` to the first page. axum's `nest` routes one of them: the one
    /// that it is called with.
    pub fn router(self) -> Router {
        let console = Arc::new(self.inner);
        let all = any(move |request| {
            let console = Arc::clone(&console);
            async move { serve::serve(&console, request).await }
        });
        // Not a fallback: an app may have its own, and axum drops the fallback of a router that is nested twice.
        Router::new().route("/", all.clone()).route("/{*path}", all)
    }
}

impl Inner {
    /// Returns true if the process is about to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
            || self.engine.as_ref().is_some_and(Engine::is_stopping)
    }

    /// Returns where to find the token, for a caller without one.
    pub(crate) fn where_the_token_is(&self) -> &'static str {
        match self.authenticator {
            None => {
                "This needs the token of this launch: open the console by the link that the server printed when it started, or send Authorization: Bearer"
            }
            Some(_) => "This needs a token: send Authorization: Bearer, or log in on the page",
        }
    }
}
