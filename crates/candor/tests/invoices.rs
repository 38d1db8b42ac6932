//! The invoices server as its clients and its operator meet it: a process that may be killed, and a database that tells what
//! really happened.

#![allow(missing_docs)]

#[path = "invoices/approvals.rs"]
mod approvals;
#[path = "invoices/audit.rs"]
mod audit;
#[path = "invoices/client.rs"]
mod client;
#[path = "invoices/desk.rs"]
mod desk;
#[path = "invoices/errors.rs"]
mod errors;
#[path = "run/example.rs"]
mod example;
#[path = "run/http.rs"]
mod http;
#[cfg(unix)]
#[path = "invoices/kill.rs"]
mod kill;
#[cfg(unix)]
#[path = "invoices/lease.rs"]
mod lease;
#[path = "run/messages.rs"]
mod messages;
#[path = "invoices/places.rs"]
mod places;
#[path = "run/process.rs"]
mod process;
#[path = "invoices/restart.rs"]
mod restart;
#[path = "invoices/safety.rs"]
mod safety;
#[path = "invoices/shop.rs"]
mod shop;
#[cfg(unix)]
#[path = "invoices/stop.rs"]
mod stop;
#[path = "invoices/tools.rs"]
mod tools;
#[path = "invoices/two.rs"]
mod two;

use example::example;
