//! Grants that a reviewer gives with an approval: which arguments they cover, until when, and how to describe them.

use std::fmt;
use std::time::Duration;

use candor_ledger::{Filter, Grant, Moment, NewGrant, Page, Scope, Store};
use serde_json::{Value, json};

use crate::approval::ApprovalRequest;
use crate::details::RequestDetails;
use crate::display::shown::{json_shown, shown};
use crate::display::when;
use crate::error::OperatorError;
use crate::pattern::{ArgumentPattern, PatternError};

/// A grant before it is recorded: its arguments and its duration.
#[derive(Debug, Clone)]
pub struct GrantDraft {
    pattern: ArgumentPattern,
    lasts: Duration,
}

impl GrantDraft {
    /// Returns a draft for calls like the one in the request. Its arguments must be the same, except those in `any`, and those in
    /// `under`, which may be any path inside a folder. The value of a secret is not stored, so a grant can only allow any value.
    /// The reviewer must name the secret in `any`.
    ///
    /// # Errors
    /// A named argument is missing or named twice, a path is invalid, or a secret is not in `any`.
    pub fn like(
        request: &RequestDetails,
        any: &[&str],
        under: &[(&str, &str)],
        lasts: Duration,
    ) -> Result<Self, GrantError> {
        let twice = under.iter().enumerate().find(|(at, pair)| {
            any.contains(&pair.0) || under[..*at].iter().any(|other| other.0 == pair.0)
        });
        if let Some((_, (name, _))) = twice {
            return Err(GrantError::NamedTwice((*name).to_owned()));
        }
        if let Some(secret) = request.secrets.iter().find(|name| !any.contains(&name.as_str())) {
            return Err(GrantError::Secret(secret.clone()));
        }
        let arguments: Value = serde_json::from_str(request.arguments.get())
            .map_err(|error| GrantError::Arguments(error.to_string()))?;
        let pattern = ArgumentPattern::like(&arguments, any, under).map_err(GrantError::Pattern)?;
        Ok(Self { pattern, lasts })
    }

    /// Describes what the grant will allow.
    #[must_use]
    pub fn summary(&self, scope: &Scope, now: Moment) -> String {
        let Scope { principal, server, instance, tool } = scope;
        format!(
            "Until {} ({} from now), {} may call {} of {} ({}) without approval when:\n{}",
            when::written(now.after(self.lasts)),
            when::length(self.lasts),
            shown(principal),
            shown(tool),
            shown(server),
            shown(instance),
            pattern_summary(&self.pattern.to_string()).join("\n"),
        )
    }

    /// Records the grant. The call itself is already approved, and stays so.
    ///
    /// # Errors
    /// The ledger cannot record it.
    pub async fn give(
        self,
        store: &dyn Store,
        request: &ApprovalRequest,
        by: &str,
    ) -> Result<Grant, OperatorError> {
        let granting = NewGrant {
            scope: request.id.scope.clone(),
            binding: request.question.binding,
            pattern: self.pattern.to_string(),
            by: by.to_owned(),
            lasts: self.lasts,
        };
        store
            .grant(granting)
            .await
            .map_err(|error| OperatorError::GrantNotRecorded { id: request.short(), error })
    }
}

/// The reason why a grant cannot be drafted. The sentences are safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantError {
    /// The reviewer named this argument twice.
    NamedTwice(String),
    /// The value of this argument is not stored, and the reviewer did not allow any value.
    Secret(String),
    /// The arguments of the request cannot be read, for this reason.
    Arguments(String),
    /// The pattern is invalid.
    Pattern(PatternError),
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamedTwice(name) => write!(f, "`{}` is named twice", shown(name)),
            Self::Secret(name) => write!(
                f,
                "`{0}` is or contains a secret, which is not stored, so no grant can match the same value. \
                 Allow `any` value of `{0}`, or approve this call alone",
                shown(name)
            ),
            Self::Arguments(error) => write!(f, "the arguments cannot be read: {error}"),
            Self::Pattern(error) => shown(&error.to_string()).fmt(f),
        }
    }
}

impl std::error::Error for GrantError {}

/// Returns a grant for programs.
#[must_use]
pub fn grant_json(grant: &Grant, now: Moment) -> Value {
    let Scope { principal, server, instance, tool } = &grant.scope;
    let pattern: Option<Value> = serde_json::from_str(&grant.pattern).ok();
    json!({
        "id": grant.id.to_string(),
        "principal": principal,
        "server": server,
        "instance": instance,
        "tool": tool,
        "pattern": pattern.unwrap_or_else(|| json!(grant.pattern)),
        "binding": grant.binding.map(|binding| binding.to_string()),
        "by": grant.by,
        "since": when::exact(grant.since),
        "until": when::exact(grant.until),
        "active": grant.binding.is_some() && grant.is_in_force(now),
        "revokedBy": grant.revoked.as_ref().map(|(by, _)| by),
        "revokedAt": grant.revoked.as_ref().and_then(|(_, at)| when::exact(*at)),
    })
}

/// Returns all stored grants, newest first.
///
/// # Errors
/// The ledger cannot be read.
pub async fn grants(store: &dyn Store) -> Result<Vec<Grant>, OperatorError> {
    let mut grants = Vec::new();
    let mut page = Some(Page::default());
    while let Some(this) = page {
        let paged = store.grants(Filter::default(), this).await?;
        grants.extend(paged.items);
        page = paged.next.map(|next| Page { from: Some(next), ..this });
    }
    Ok(grants)
}

/// Describes a stored pattern, line by line.
#[must_use]
pub fn pattern_summary(pattern: &str) -> Vec<String> {
    let Ok(Value::Object(members)) = serde_json::from_str(pattern) else {
        return vec![format!("  what cannot be read here: {}", shown(pattern))];
    };
    let word = |value: &Value| json_shown(&value.to_string());
    let mut lines: Vec<_> = members
        .iter()
        .map(|(name, fit)| {
            let fit = match fit.as_object().and_then(|fit| fit.iter().next()) {
                Some((kind, value)) if kind == "is" => format!("is {}", word(value)),
                Some((kind, value)) if kind == "under" => {
                    format!("is {} or inside it", word(value))
                }
                Some((kind, _)) if kind == "any" => "is anything, or is omitted".to_owned(),
                _ => format!("fits what cannot be read here: {}", word(fit)),
            };
            format!("  {} {fit}", shown(name))
        })
        .collect();
    lines.push("  and no other argument is present".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_described_in_words() {
        let call = serde_json::json!({"action": "delete", "path": "notes/a", "why": 7});
        let pattern = ArgumentPattern::like(&call, &["why"], &[("path", "notes")]).unwrap();
        assert_eq!(
            pattern_summary(&pattern.to_string()),
            [
                "  action is \"delete\"",
                "  path is \"notes\" or inside it",
                "  why is anything, or is omitted",
                "  and no other argument is present",
            ]
        );
        assert_eq!(pattern_summary("a\u{1b}"), [r"  what cannot be read here: a\u{1b}"]);
        assert!(pattern_summary(r#"{"a": {"like": 1}}"#)[0].contains("cannot be read"));
    }
}
