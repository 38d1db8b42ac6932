//! `${VAR}` in the configuration files of hosts.

use std::path::Path;

use candor_protocol::shown::shown;

use super::Environment;

/// A part of a text that may contain variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text without a variable.
    Text(&'a str),
    /// `${VAR}`, `${VAR:-default}`, or `${env:VAR}` as some hosts write it.
    Variable {
        /// The name of an environment variable.
        name: &'a str,
        /// The value if the variable is unset or empty.
        default: Option<&'a str>,
    },
    /// A word that the host fills in: `${workspaceFolder}`, `${input:token}`.
    Host(&'a str),
}

/// Splits a text at its variables. Text that only looks like a variable stays text.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        if start > 0 {
            pieces.push(Piece::Text(&rest[..start]));
        }
        let whole = &rest[start..=start + length];
        pieces.push(variable(&whole[2..length]).unwrap_or(Piece::Text(whole)));
        rest = &rest[start + length + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// Parses the text between the braces.
fn variable(inner: &str) -> Option<Piece<'_>> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if matches!(inner, "workspaceFolder" | "userHome") {
        return Some(Piece::Host(inner));
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner.strip_prefix("env:").unwrap_or(inner), None),
    };
    if is_name(name) {
        return Some(Piece::Variable { name, default });
    }
    let (kind, _) = inner.split_once(':')?;
    is_name(kind).then_some(Piece::Host(inner))
}

/// Fills in the variables of a text. `${workspaceFolder}` is the project's folder, or the current one if there is no project.
///
/// # Errors
/// A variable is unset and has no default, or only its host can fill it in. The error names it.
pub fn expand(
    text: &str,
    environment: &Environment,
    project: Option<&Path>,
) -> Result<String, String> {
    let mut filled = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Variable { name, default } => {
                // As in a shell, an empty variable gets its default, too.
                let set =
                    environment.variable(name).filter(|set| !set.is_empty() || default.is_none());
                let value = set.or_else(|| default.map(str::to_owned));
                filled.push_str(&value.ok_or_else(|| {
                    format!("the variable {name} is not set, and has no default")
                })?);
            }
            Piece::Host(word) => {
                let folder = match word {
                    "workspaceFolder" => Some(project.unwrap_or(&environment.folder)),
                    "userHome" => environment.home.as_deref(),
                    _ => None,
                };
                let folder = folder.and_then(Path::to_str).ok_or_else(|| {
                    format!("${{{}}} is something that only its host can fill in", shown(word))
                })?;
                filled.push_str(folder);
            }
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let set = [("TOKEN", "t0p"), ("EMPTY", ""), ("HAS_DOLLAR", "${TOKEN}")];
        let environment = Environment::new("/srv/here").home("/home/ann").variables(set);
        expand(text, &environment, Some(Path::new("/srv")))
    }

    #[test]
    fn variables_are_expanded_once() {
        for (text, expected) in [
            ("", ""),
            ("plain $TOKEN {x}", "plain $TOKEN {x}"),
            ("Bearer ${TOKEN}!", "Bearer t0p!"),
            ("${env:TOKEN}${TOKEN}", "t0pt0p"),
            ("${MISSING:-a:-b}", "a:-b"),
            ("${MISSING:-}", ""),
            ("${TOKEN:-x}", "t0p"),
            ("[${EMPTY}] [${EMPTY:-x}]", "[] [x]"),
            ("${HAS_DOLLAR}", "${TOKEN}"),
            ("${workspaceFolder}/a ${userHome}", "/srv/a /home/ann"),
            ("${", "${"),
            ("${}${1}${a b}", "${}${1}${a b}"),
            ("ü${TOKEN}ü", "üt0pü"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn missing_variable_is_named_in_the_error() {
        assert_eq!(
            expanded("x${MISSING}").unwrap_err(),
            "the variable MISSING is not set, and has no default"
        );
        assert!(expanded("${env:MISSING}").unwrap_err().contains("MISSING"));
        assert!(expanded("${input:api-key}").unwrap_err().contains("${input:api-key}"));
        assert!(expanded("${input:\u{1b}}").unwrap_err().contains(r"\u{1b}"));
    }
}
