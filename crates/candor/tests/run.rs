//! The example servers as hosts and browsers meet them: as processes, through pipes and sockets.

#![allow(missing_docs)]

#[path = "run/authenticating.rs"]
mod authenticating;
#[path = "run/example.rs"]
mod example;
#[path = "run/foresight.rs"]
mod foresight;
#[path = "run/http.rs"]
mod http;
#[path = "run/instances.rs"]
mod instances;
#[path = "run/messages.rs"]
mod messages;
#[path = "run/mistakes.rs"]
mod mistakes;
#[path = "run/process.rs"]
mod process;
#[path = "run/secrets.rs"]
mod secrets;
#[path = "run/signals.rs"]
mod signals;
#[path = "run/stdio.rs"]
mod stdio;

use example::example;
