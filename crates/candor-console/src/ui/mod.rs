//! Pages for people: a file for each.

pub(crate) mod approvals;
pub(crate) mod assets;
pub(crate) mod history;
pub(crate) mod resources;
pub(crate) mod server;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod tool;
pub(crate) mod tools;

pub(crate) use shell::problem;
