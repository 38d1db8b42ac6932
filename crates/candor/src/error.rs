//! What can go wrong while a server starts or runs.

use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server could not start or go on.
///
/// Its debug form is its message, because that is what a person sees when `main` returns it.
pub struct Error {
    message: String,
    usage: bool,
}

impl Error {
    /// An error in words: what happened, and what to do now.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), usage: false }
    }

    /// One that another command line mends: programs end with 2 over it, as over everything else that is wrong with theirs.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), usage: true }
    }

    /// Whether the command line has to be another one.
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
