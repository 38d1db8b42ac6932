//! A few paths of GitHub's API, in memory, behind a real HTTP server.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, body};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Repositories, each with the titles of its issues.
pub(crate) type Repositories = BTreeMap<String, Vec<String>>;

/// The API and its data.
#[derive(Clone)]
pub(crate) struct StandIn {
    address: SocketAddr,
    repositories: Arc<Mutex<Repositories>>,
}

impl StandIn {
    /// Starts the API with one repository, `octocat/hello`.
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let first = BTreeMap::from([("octocat/hello".to_owned(), Vec::new())]);
        let api =
            Self { address: listener.local_addr()?, repositories: Arc::new(Mutex::new(first)) };
        let app = Router::new()
            .route("/repos/{owner}/{repo}", get(read).delete(remove))
            .route("/repos/{owner}/{repo}/issues", post(add))
            .with_state(api.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(api)
    }

    /// Returns the repositories.
    pub(crate) fn repositories(&self) -> Repositories {
        self.repositories.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Repositories) -> T) -> T {
        change(&mut self.repositories.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends a request as any client would. Returns the status and the body.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<(u16, String)> {
        if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Ok((404, String::new()));
        }
        let body = body.unwrap_or_default();
        let mut stream = TcpStream::connect(self.address).await?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        Ok((status.unwrap_or(500), body.to_owned()))
    }
}

async fn read(
    State(api): State<StandIn>,
    Path((owner, repo)): Path<(String, String)>,
) -> Result<String, StatusCode> {
    let repositories = api.repositories();
    let issues = repositories.get(&format!("{owner}/{repo}")).ok_or(StatusCode::NOT_FOUND)?;
    Ok(format!("{owner}/{repo} has {} issues", issues.len()))
}

async fn add(
    State(api): State<StandIn>,
    Path((owner, repo)): Path<(String, String)>,
    title: body::Bytes,
) -> Result<String, StatusCode> {
    let title = String::from_utf8_lossy(&title).into_owned();
    api.change(|repositories| {
        let issues =
            repositories.get_mut(&format!("{owner}/{repo}")).ok_or(StatusCode::NOT_FOUND)?;
        issues.push(title);
        Ok(format!("issue {}", issues.len()))
    })
}

async fn remove(
    State(api): State<StandIn>,
    Path((owner, repo)): Path<(String, String)>,
) -> Result<StatusCode, StatusCode> {
    let removed = api.change(|repositories| repositories.remove(&format!("{owner}/{repo}")));
    removed.map(|_| StatusCode::NO_CONTENT).ok_or(StatusCode::NOT_FOUND)
}
