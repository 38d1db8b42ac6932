//! File errors for clients.

use candor_server::tool::ToolError;

use crate::error::FileError;
use crate::place::PathError;

impl FileError {
    /// Returns the error for the caller of a tool or the reader of a resource. It contains nothing that must be hidden.
    #[must_use]
    pub fn told(&self) -> ToolError {
        ToolError::new(sentence(&self.to_string())).code(self.code())
    }
}

impl PathError {
    /// Returns the error for the caller of a tool.
    #[must_use]
    pub fn told(&self) -> ToolError {
        ToolError::new(sentence(&self.to_string())).code("bad_path").never_retry()
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let begun = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
    begun.unwrap_or_default()
}
