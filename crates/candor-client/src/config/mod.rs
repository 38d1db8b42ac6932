//! The servers that the user's hosts know, from their configuration files.
//!
//! ```no_run
//! use candor_client::config::{Environment, HostConfigs};
//!
//! # async fn agree(_: &str) -> bool { false }
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment::current();
//! let configs = HostConfigs::load(&environment);
//! for problem in configs.problems() {
//!     eprintln!("{problem}");
//! }
//! let entry = configs.find("notes")?;
//! // A cloned repository can bring such a file with it.
//! if entry.needs_agreement() && !agree(&format!("{entry:?}")).await {
//!     return Ok(());
//! }
//! let client = entry.connect(&environment)?.await?;
//! # Ok(()) }
//! ```
//!
//! - [`HostConfigs`]: all files, and their precedence. Nothing is started or sent before [`ServerEntry::connect`] is awaited.
//! - [`ServerEntry`]: one server: its name, its file, the author of that file, and its [`Target`].
//! - [`Environment`]: the folders to search and the variables to fill in.
//! - [`redact`]: what a host may print of a server.

mod address;
mod entry;
mod environment;
mod error;
mod file;
mod hosts;
mod jsonc;
mod places;
pub mod redact;
mod target;
mod variables;

pub use address::{host, is_local, is_loopback, is_public};
pub use entry::ServerEntry;
pub use environment::Environment;
pub use error::ConfigError;
pub use hosts::HostConfigs;
pub use places::Owner;
pub use target::Target;
pub use variables::{Piece, expand, pieces};
