//! Which servers that others wrote there are, and how each is installed and started.

use std::ffi::OsString;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;

use super::program;
use crate::example_server::LISTENING;
use crate::npm::{self, Package};
use crate::process::Outcome;
use crate::python;
use crate::workspace::Workspace;

/// Exact versions, so that a new release cannot turn an unchanged commit red.
const EVERYTHING: Package =
    Package { name: "@modelcontextprotocol/server-everything", version: "2026.8.31" };
const FILESYSTEM: Package =
    Package { name: "@modelcontextprotocol/server-filesystem", version: "2026.8.31" };

/// What they are built with takes any of its releases; this is the one that they are tried with.
const SDK: Package = Package { name: "@modelcontextprotocol/sdk", version: "1.32.2" };

/// What their manifests ask for.
const OLDEST_NODE: u32 = 20;

/// The same as for the official clients.
const REQUIREMENTS: &str = "clients/python/requirements.txt";

/// A server that others wrote, or that is written with their SDK.
pub(super) struct Peer {
    pub(super) name: &'static str,
    pub(super) eras: &'static [&'static str],
    /// Installs what it needs. The folder is for servers of files.
    pub(super) ready: fn(&Workspace, &Path, &Path) -> Outcome<Ready>,
}

/// How a server is started.
pub(super) struct Ready {
    /// Program and arguments.
    pub(super) stdio: Vec<String>,
    /// The same over HTTP, if it has that.
    pub(super) http: Option<Vec<String>>,
    /// What it says before its port.
    pub(super) says: &'static str,
    pub(super) settings: Vec<(&'static str, OsString)>,
}

pub(super) static PEERS: [Peer; 4] = [
    Peer { name: "everything", eras: &["legacy"], ready: everything },
    Peer { name: "filesystem", eras: &["legacy"], ready: filesystem },
    Peer { name: "python", eras: &["legacy", "modern"], ready: with_python },
    Peer { name: "rmcp", eras: &["legacy", "modern"], ready: with_rmcp },
];

fn words(words: &[&dyn AsRef<Path>]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().display().to_string()).collect()
}

/// Node, and the script of a package.
fn script(place: &Path, package: Package) -> Outcome<Vec<String>> {
    let packages = [EVERYTHING, FILESYSTEM, SDK];
    let node = npm::ensure("official TypeScript servers", &packages, OLDEST_NODE, place)?;
    Ok(words(&[&node, &package.directory(place).join("dist").join("index.js")]))
}

fn everything(_: &Workspace, place: &Path, _: &Path) -> Outcome<Ready> {
    let script = script(place, EVERYTHING)?;
    let with = |transport: &str| [&script[..], &[transport.to_owned()]].concat();
    Ok(Ready {
        stdio: with("stdio"),
        http: Some(with("streamableHttp")),
        says: "listening on port ",
        settings: vec![("PORT", free_port()?.to_string().into())],
    })
}

/// It says the port that it was told, so it has to be told one. Somebody else may take it meanwhile: then it ends, and says so.
fn free_port() -> Outcome<u16> {
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let listener = TcpListener::bind(any).or_else(|_| TcpListener::bind("0.0.0.0:0"));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}

fn filesystem(_: &Workspace, place: &Path, folder: &Path) -> Outcome<Ready> {
    let script = script(place, FILESYSTEM)?;
    let stdio = [script, words(&[&folder])].concat();
    Ok(Ready { stdio, http: None, says: "", settings: Vec::new() })
}

fn with_python(at: &Workspace, _: &Path, _: &Path) -> Outcome<Ready> {
    let python = python::ensure("official Python SDK", REQUIREMENTS, &at.target.join("clients"))?;
    // The repository is no place for what Python compiles.
    let mut settings = vec![("PYTHONDONTWRITEBYTECODE", OsString::from("1"))];
    settings.extend(python.packages.map(|packages| ("PYTHONPATH", packages.into())));
    let with = |transport: &str| words(&[&python.program, &"clients/candor/server.py", &transport]);
    Ok(Ready { stdio: with("stdio"), http: Some(with("http")), says: LISTENING, settings })
}

fn with_rmcp(at: &Workspace, _: &Path, _: &Path) -> Outcome<Ready> {
    let with = |transport: &str| words(&[&program(at, "rmcp-peer"), &transport]);
    Ok(Ready {
        stdio: with("stdio"),
        http: Some(with("http")),
        says: LISTENING,
        settings: Vec::new(),
    })
}
