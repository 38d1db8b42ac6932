//! What can go wrong while a server starts or runs.

use std::fmt;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a server could not start or go on.
///
/// Its debug form is its message, because that is what a person sees when `main` returns it.
pub struct Error(String);

impl Error {
    /// An error in words: what happened, and what to do now.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
from!(std::io::Error candor_server::BuildError candor_server::tool::RegistrationError candor_server::resource::TemplateError);
