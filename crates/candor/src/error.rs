//! Errors while a server starts or runs.

use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server cannot start or keep running.
///
/// Its debug form is its message, because a user sees that form when `main` returns the error.
pub struct Error {
    message: String,
    usage: bool,
}

impl Error {
    /// Creates an error from a message: what happened, and what to do next.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), usage: false }
    }

    /// Creates an error that another command line fixes. Programs exit with 2 on it, as on any other wrong command line.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), usage: true }
    }

    /// Returns true if the command line is wrong.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        self.usage
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

macro_rules! from {
    ($($type:ty)*) => {$(
        impl From<$type> for Error {
            fn from(error: $type) -> Self {
                Self::new(error)
            }
        }
    )*};
}
from!(std::io::Error candor_protocol::json::Malformed candor_server::BuildError candor_server::tool::RegistrationError candor_server::resource::TemplateError);
#[cfg(feature = "client")]
from!(candor_client::Error);
