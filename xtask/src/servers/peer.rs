//! The servers that others wrote, and how to install and start each.

use std::ffi::OsString;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

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

/// The SDK of these servers. They accept any release, so the tests pin one.
const SDK: Package = Package { name: "@modelcontextprotocol/sdk", version: "1.32.2" };

/// The second generation of the SDK, and the packages that it needs to listen.
const SDK_2: [Package; 4] = [
    Package { name: "@modelcontextprotocol/server", version: "2.4.0" },
    Package { name: "@modelcontextprotocol/node", version: "2.1.2" },
    Package { name: "@hono/node-server", version: "2.1.6" },
    Package { name: "hono", version: "4.13.17" },
];

/// The version that their manifests require.
const OLDEST_NODE: u32 = 20;

/// The requirements of the official clients.
const REQUIREMENTS: &str = "clients/python/requirements.txt";

/// The folder of the servers that we wrote with the SDKs of others.
const SCRIPTS: &str = "clients/candor/servers";

const LEGACY: &str = "legacy";
const MODERN: &str = "modern";

/// A server that others wrote, or that uses their SDK.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// The eras that it speaks, over each transport.
    pub(super) stdio: &'static [&'static str],
    pub(super) http: &'static [&'static str],
    /// Installs what it needs. The folder is for servers that serve files.
    pub(super) ready: fn(&Workspace, &Path, &Path) -> Outcome<Ready>,
}

/// How to start a server.
pub(super) struct Ready {
    /// Program and arguments, over stdio.
    pub(super) stdio: Vec<String>,
    /// Program and arguments, over HTTP.
    pub(super) http: Vec<String>,
    /// The text before the port on its stderr.
    pub(super) says: &'static str,
    pub(super) settings: Vec<(&'static str, OsString)>,
}

pub(super) static PEERS: [Peer; 5] = [
    Peer { name: "everything", stdio: &[LEGACY], http: &[LEGACY], ready: everything },
    Peer { name: "filesystem", stdio: &[LEGACY], http: &[], ready: filesystem },
    // Over HTTP it has no sessions, so in the legacy era it cannot ask the client.
    Peer { name: "typescript", stdio: &[LEGACY, MODERN], http: &[MODERN], ready: with_typescript },
    Peer { name: "python", stdio: &[LEGACY, MODERN], http: &[LEGACY, MODERN], ready: with_python },
    Peer { name: "rmcp", stdio: &[LEGACY, MODERN], http: &[LEGACY, MODERN], ready: with_rmcp },
];

fn words(words: &[&dyn AsRef<Path>]) -> Vec<String> {
    words.iter().map(|word| word.as_ref().display().to_string()).collect()
}

/// Installs all packages for Node, and returns Node.
fn node(place: &Path) -> Outcome<PathBuf> {
    let packages = [&[EVERYTHING, FILESYSTEM, SDK][..], &SDK_2].concat();
    npm::ensure("official TypeScript servers", &packages, OLDEST_NODE, place)
}

/// Returns Node and the script of a package.
fn script(place: &Path, package: Package) -> Outcome<Vec<String>> {
    Ok(words(&[&node(place)?, &package.directory(place).join("dist").join("index.js")]))
}

fn everything(_: &Workspace, place: &Path, _: &Path) -> Outcome<Ready> {
    let script = script(place, EVERYTHING)?;
    let with = |transport: &str| [&script[..], &[transport.to_owned()]].concat();
    Ok(Ready {
        stdio: with("stdio"),
        http: with("streamableHttp"),
        says: "listening on port ",
        settings: vec![("PORT", free_port()?.to_string().into())],
    })
}

/// Returns a free port. The server prints only the port that it gets, so we choose one. If another program takes that
/// port first, the server ends with an error.
fn free_port() -> Outcome<u16> {
    let any = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let listener = TcpListener::bind(any).or_else(|_| TcpListener::bind("0.0.0.0:0"));
    let address = listener.and_then(|listener| listener.local_addr());
    address.map(|address| address.port()).map_err(|e| format!("no free port: {e}"))
}

fn filesystem(_: &Workspace, place: &Path, folder: &Path) -> Outcome<Ready> {
    let script = script(place, FILESYSTEM)?;
    let stdio = [script, words(&[&folder])].concat();
    Ok(Ready { stdio, http: Vec::new(), says: "", settings: Vec::new() })
}

fn with_typescript(_: &Workspace, place: &Path, _: &Path) -> Outcome<Ready> {
    let node = node(place)?;
    let scripts = place.join("scripts");
    npm::copy_scripts(Path::new(SCRIPTS), &scripts)?;
    let with = |transport: &str| words(&[&node, &scripts.join("peer.mjs"), &transport]);
    Ok(Ready { stdio: with("stdio"), http: with("http"), says: LISTENING, settings: Vec::new() })
}

fn with_python(at: &Workspace, _: &Path, _: &Path) -> Outcome<Ready> {
    let python = python::ensure("official Python SDK", REQUIREMENTS, &at.target.join("clients"))?;
    // Python must not write compiled files into the repository.
    let mut settings = vec![("PYTHONDONTWRITEBYTECODE", OsString::from("1"))];
    settings.extend(python.packages.map(|packages| ("PYTHONPATH", packages.into())));
    let script = Path::new(SCRIPTS).join("peer.py");
    let with = |transport: &str| words(&[&python.program, &script, &transport]);
    Ok(Ready { stdio: with("stdio"), http: with("http"), says: LISTENING, settings })
}

fn with_rmcp(at: &Workspace, _: &Path, _: &Path) -> Outcome<Ready> {
    let with = |transport: &str| words(&[&program(at, "rmcp-peer"), &transport]);
    Ok(Ready { stdio: with("stdio"), http: with("http"), says: LISTENING, settings: Vec::new() })
}
