//! Pointers into the arguments of a call.

use std::fmt;

use serde_json::Value;

/// A JSON Pointer that names a member of the arguments: `/action`, `/target/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pointer(String);

impl Pointer {
    /// Returns the value there, if there is one. `null` counts as absent.
    #[must_use]
    pub fn find<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        arguments.pointer(&self.0).filter(|value| !value.is_null())
    }

    /// Returns the name of the argument, if the pointer names a whole argument.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        self.0.strip_prefix('/').filter(|name| !name.contains(['/', '~']))
    }

    /// Returns the pointers on the path here, from the argument itself on. The last one is this pointer.
    pub fn steps(&self) -> impl Iterator<Item = Self> {
        let ends = self.0.match_indices('/').skip(1).map(|(at, _)| at).chain([self.0.len()]);
        ends.map(|end| Self(self.0[..end].to_owned()))
    }

    /// Returns the name of the last member on the path.
    #[must_use]
    pub fn name(&self) -> String {
        let last = self.0.rsplit('/').next().unwrap_or_default();
        last.replace("~1", "/").replace("~0", "~")
    }

    /// Returns the pointer as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Pointer {
    /// Creates a pointer from its text, or from the bare name of an argument.
    fn from(text: &str) -> Self {
        if text.starts_with('/') {
            Self(text.to_owned())
        } else {
            Self(format!("/{}", text.replace('~', "~0").replace('/', "~1")))
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointer_steps_have_decoded_names() {
        let steps = |text: &str| -> Vec<_> {
            Pointer::from(text).steps().map(|step| (step.to_string(), step.name())).collect()
        };
        let step = |at: &str, name: &str| (at.to_owned(), name.to_owned());
        assert_eq!(steps("action"), [step("/action", "action")]);
        assert_eq!(steps("a/b"), [step("/a~1b", "a/b")]);
        assert_eq!(
            steps("/a/b~0/c"),
            [step("/a", "a"), step("/a/b~0", "b~"), step("/a/b~0/c", "c")]
        );
    }
}
