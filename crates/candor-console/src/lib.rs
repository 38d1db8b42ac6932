//! The discovery REST API and the web console of an MCP server, as one axum router for any app.
//!
//! ```no_run
//! # async fn run(engine: candor_server::RunningServer) -> std::io::Result<()> {
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
//! | every route: access, needs, handler, description | `routes`; the types of a row: `route`, `operation` |
//! | a request, stage by stage | `serve`; host, origin, body and capacity: `Front` of `candor-server` |
//! | authentication and access | `access`, `session` |
//! | what handlers get | `request` |
//! | error responses | `problem`; their IDs in the log: `trace` |
//! | JSON for programs | `rest`, a file for each subject |
//! | schemas as forms and tables | `form`, pure functions |
//! | pages for users | `ui`, a file for each page; `html` writes them, `assets/` is what browsers load |
//!
//! Every tool call goes through the [`View`](candor_server::View) of its caller, as calls over MCP do. Approvals and history cover the calls of all
//! servers, so they need only the shared ledger.

mod access;
mod form;
mod html;
mod operation;
mod problem;
mod project;
mod request;
mod rest;
mod route;
mod routes;
mod serve;
mod session;
mod trace;
mod ui;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::routing::any;
use candor_server::store::Store;
use candor_server::transport::http::{Capacity, Front, Http};
use candor_server::{Limits, RunningServer};

use project::Project;
use session::LoginSessions;

/// A builder for a console.
#[must_use]
pub struct Console {
    inner: Inner,
    /// Origins whose pages may use the API.
    origins: Vec<String>,
    launch: String,
}

/// The state that every request needs.
pub(crate) struct Inner {
    /// The server whose tools and resources the console shows. `None` if it shows only a ledger.
    pub(crate) engine: Option<RunningServer>,
    pub(crate) store: Option<Arc<dyn Store>>,
    pub(crate) title: String,
    pub(crate) project: Option<Project>,
    pub(crate) allow_execute: bool,
    /// The way in: with the capacity of the server, or a separate one if the console shows only a ledger.
    pub(crate) front: Front,
    /// The hash of the launch token, which gives operator access.
    pub(crate) launch: [u8; 32],
    pub(crate) sessions: LoginSessions,
    pub(crate) limits: Limits,
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
    pub fn of(engine: RunningServer) -> Self {
        let title = engine.about().info.title.unwrap_or_else(|| engine.name().to_owned());
        let (store, limits) = (engine.store().cloned(), engine.limits().clone());
        Self::new(Some(engine), store, title, limits)
    }

    /// Returns a console of a ledger alone: approvals and history of every server that writes to it.
    pub fn of_ledger(store: Arc<dyn Store>) -> Self {
        Self::new(None, Some(store), "Candor".to_owned(), Limits::default())
    }

    fn new(
        engine: Option<RunningServer>,
        store: Option<Arc<dyn Store>>,
        title: String,
        limits: Limits,
    ) -> Self {
        let launch = session::random_token();
        let inner = Inner {
            // The authenticator of the server protects its console too.
            front: front(engine.as_ref(), &limits, &Http::default()),
            engine,
            store,
            title,
            project: None,
            allow_execute: false,
            launch: session::hash(&launch),
            sessions: LoginSessions::default(),
            limits,
            lists: rest::tools::Lists::default(),
            seen: rest::approvals::PendingCount::default(),
            closing: Arc::default(),
        };
        Self { inner, origins: Vec::new(), launch }
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
        self.inner.front = front(self.inner.engine.as_ref(), &self.inner.limits, http);
        self
    }

    /// Lets pages of another origin use the API: `https://example.org`. They must send a token, because cookies do not work for
    /// them.
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
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
        let Self { mut inner, origins, .. } = self;
        inner.front = inner.front.for_console(origins);
        let console = Arc::new(inner);
        let all = any(move |request| {
            let console = Arc::clone(&console);
            async move { serve::serve(&console, request).await }
        });
        // Not a fallback: an app may have its own, and axum drops the fallback of a router that is nested twice.
        Router::new().route("/", all.clone()).route("/{*path}", all)
    }
}

fn front(engine: Option<&RunningServer>, limits: &Limits, http: &Http) -> Front {
    let capacity =
        engine.map_or_else(|| Arc::new(Capacity::new(limits)), |e| Arc::clone(e.capacity()));
    let front = Front::new(http, engine.and_then(RunningServer::authenticator), limits, capacity);
    match engine {
        Some(engine) => front.of(engine),
        None => front,
    }
}

impl Inner {
    /// Returns true if the process is about to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
            || self.engine.as_ref().is_some_and(|engine| engine.is_stopping())
    }

    /// Returns where to find the token, for a caller without one.
    pub(crate) fn where_the_token_is(&self) -> &'static str {
        match self.front.authenticator() {
            None => {
                "This needs the token of this launch: open the console by the link that the server printed when it started, or send Authorization: Bearer"
            }
            Some(_) => "This needs a token: send Authorization: Bearer, or log in on the page",
        }
    }
}
