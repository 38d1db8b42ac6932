//! The argument pattern of a grant: which calls of a tool it covers.

use std::fmt;

use serde_json::{Map, Value, json};

/// The arguments that a grant covers. Each argument of a call must be named in the pattern and match it. An argument may be missing
/// only if the pattern allows any value for it.
///
/// As JSON: `{"action": {"is": "delete"}, "path": {"under": "notes"}, "content": {"any": true}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentPattern(Vec<(String, Fits)>);

#[derive(Debug, Clone, PartialEq)]
enum Fits {
    /// Exactly this value.
    Is(Value),
    /// This path, or a path inside it.
    Under(Vec<String>),
    /// Any value, or none.
    Any,
}

/// The reason why a pattern cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError(String);

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PatternError {}

impl ArgumentPattern {
    /// Returns a pattern for exactly these arguments, with two exceptions. An argument in `any` may have any value. An argument in
    /// `under` may be that path or any path inside it.
    ///
    /// # Errors
    /// A named argument is missing, a path is invalid, or the call itself does not match the pattern.
    ///
    /// ```
    /// use candor_operator::ArgumentPattern;
    /// use serde_json::json;
    ///
    /// let call = json!({"action": "delete", "path": "notes/a.txt"});
    /// let pattern = ArgumentPattern::like(&call, &[], &[("path", "notes")])?;
    /// assert!(pattern.fits(&json!({"action": "delete", "path": "notes/old/b.txt"})));
    /// assert!(!pattern.fits(&json!({"action": "delete", "path": "notes/../keys"})));
    /// assert!(!pattern.fits(&json!({"action": "delete", "path": "letters/b.txt"})));
    /// # Ok::<(), candor_operator::PatternError>(())
    /// ```
    pub fn like(
        arguments: &Value,
        any: &[&str],
        under: &[(&str, &str)],
    ) -> Result<Self, PatternError> {
        let none = Map::new();
        let sent = arguments.as_object().unwrap_or(&none);
        let named = any.iter().copied().chain(under.iter().map(|(name, _)| *name));
        if let Some(missing) = named.into_iter().find(|name| !sent.contains_key(*name)) {
            return Err(PatternError(format!("this call has no argument `{missing}`")));
        }
        let mut fits = Vec::new();
        for (name, value) in sent {
            let fit = if any.contains(&name.as_str()) {
                Fits::Any
            } else if let Some((_, folder)) = under.iter().find(|(argument, _)| argument == name) {
                Fits::Under(
                    steps(folder)
                        .ok_or_else(|| PatternError(format!("`{folder}` is no plain path")))?,
                )
            } else {
                Fits::Is(value.clone())
            };
            fits.push((name.clone(), fit));
        }
        let pattern = Self(fits);
        if pattern.fits(arguments) {
            Ok(pattern)
        } else {
            Err(PatternError("the call itself would not fit".to_owned()))
        }
    }

    /// Parses the text of a pattern. Returns `None` if any part is unknown, so that it covers nothing.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let Ok(Value::Object(members)) = serde_json::from_str(text) else { return None };
        let fits = members.into_iter().map(|(name, fit)| {
            let Value::Object(fit) = fit else { return None };
            let mut fit = fit.into_iter();
            let (Some((word, value)), None) = (fit.next(), fit.next()) else { return None };
            let fit = match (word.as_str(), value) {
                ("is", value) => Fits::Is(value),
                ("under", Value::String(folder)) => Fits::Under(steps(&folder)?),
                ("any", Value::Bool(true)) => Fits::Any,
                _ => return None,
            };
            Some((name, fit))
        });
        fits.collect::<Option<_>>().map(Self)
    }

    /// Returns true if the pattern covers a call with these arguments.
    #[must_use]
    pub fn fits(&self, arguments: &Value) -> bool {
        let none = Map::new();
        let sent = arguments.as_object().unwrap_or(&none);
        let named = |name: &str| self.0.iter().any(|(own, _)| own == name);
        sent.keys().all(|name| named(name))
            && self.0.iter().all(|(name, fit)| match (fit, sent.get(name)) {
                (Fits::Any, _) => true,
                (Fits::Is(value), Some(sent)) => value == sent,
                (Fits::Under(folder), Some(Value::String(path))) => {
                    steps(path).is_some_and(|path| path.starts_with(folder))
                }
                _ => false,
            })
    }
}

impl fmt::Display for ArgumentPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = self.0.iter().map(|(name, fit)| {
            let fit = match fit {
                Fits::Is(value) => json!({"is": value}),
                Fits::Under(folder) => json!({"under": folder.join("/")}),
                Fits::Any => json!({"any": true}),
            };
            (name.clone(), fit)
        });
        Value::Object(members.collect()).fmt(f)
    }
}

/// Returns the names in a path, if the path can be read in only one way.
fn steps(path: &str) -> Option<Vec<String>> {
    if path.contains(['\\', '%', ':', '\0']) || path.chars().any(char::is_control) {
        return None;
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let steps: Vec<_> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    let plain = |(at, step): (usize, &&str)| {
        !matches!(*step, "." | "..") && (!step.is_empty() || (at == 0 && steps.len() > 1))
    };
    steps.iter().enumerate().all(plain).then(|| steps.iter().map(|&step| step.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_outside_the_folder_does_not_match() {
        let call = json!({"path": "notes/a", "action": "delete"});
        let pattern = ArgumentPattern::like(&call, &[], &[("path", "notes/")]).unwrap();
        let fits = |path: &str| pattern.fits(&json!({"path": path, "action": "delete"}));
        for inside in ["notes/a", "./notes/b/c", "notes/b/"] {
            assert!(fits(inside), "{inside}");
        }
        for outside in [
            "notes/../a",
            "notes//a",
            "notesx/a",
            "/notes/a",
            "notes/%2e%2e/a",
            "notes\\..\\a",
            "a",
            "",
            "..",
        ] {
            assert!(!fits(outside), "{outside}");
        }
        assert!(!pattern.fits(&json!({"path": 7, "action": "delete"})));
    }

    #[test]
    fn pattern_constrains_every_argument() {
        let call = json!({"id": 7, "force": false, "why": "old"});
        let pattern = ArgumentPattern::like(&call, &["why"], &[]).unwrap();
        assert!(pattern.fits(&json!({"id": 7, "force": false})));
        assert!(pattern.fits(&json!({"id": 7, "force": false, "why": "other"})));
        assert!(!pattern.fits(&json!({"id": 7, "force": true})));
        assert!(!pattern.fits(&json!({"id": 7})));
        assert!(!pattern.fits(&json!({"id": 7, "force": false, "recursive": true})));
        assert_eq!(ArgumentPattern::read(&pattern.to_string()), Some(pattern));
        assert!(ArgumentPattern::like(&call, &["nobody"], &[]).is_err());
        for bad in
            ["", "[]", r#"{"a": 1}"#, r#"{"a": {"is": 1, "any": true}}"#, r#"{"a": {"like": 1}}"#]
        {
            assert_eq!(ArgumentPattern::read(bad), None, "{bad}");
        }
    }
}
