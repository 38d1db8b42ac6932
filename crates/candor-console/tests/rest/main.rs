//! The REST API, asked as a program would ask it.

#![allow(missing_docs)]

mod calls;
mod discovery;
mod foreseen;
mod guard;
mod hostile;
mod law;
#[path = "../../../candor-server/tests/resources/log.rs"]
mod log;
mod mounted;
mod names;
mod openapi;
mod order;
mod original;
mod providers;
mod refusals;
mod resources;
mod room;
mod site;
