//! Grants that a reviewer gives with an approval: which arguments they cover, until when, and how to describe them.

use std::time::Duration;

use candor_ledger::{Filter, Grant, Moment, NewGrant, Page, Scope, Store};
use serde_json::{Value, json};

use super::shown::{json_shown, shown};
use super::{ApprovalRequest, OperatorError, RequestDetails, when};
use crate::gate::ArgumentPattern;

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
        asked: &RequestDetails,
        any: &[&str],
        under: &[(&str, &str)],
        lasts: Duration,
    ) -> Result<Self, OperatorError> {
        let twice = under.iter().enumerate().find(|(at, pair)| {
            any.contains(&pair.0) || under[..*at].iter().any(|other| other.0 == pair.0)
        });
        if let Some((_, (name, _))) = twice {
            return Err(OperatorError::Refused(format!("`{}` is named twice", shown(name))));
        }
        if let Some(secret) = asked.secrets.iter().find(|name| !any.contains(&name.as_str())) {
            return Err(OperatorError::Refused(format!(
                "`{0}` is or contains a secret, which is not stored, so no grant can match the same value. \
                 Allow `any` value of `{0}`, or approve this call alone",
                shown(secret)
            )));
        }
        let arguments: Value = serde_json::from_str(asked.arguments.get()).map_err(|error| {
            OperatorError::Refused(format!("the arguments cannot be read: {error}"))
        })?;
        let pattern = ArgumentPattern::like(&arguments, any, under)
            .map_err(|error| OperatorError::Refused(shown(&error.to_string()).to_string()))?;
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
            summary(&self.pattern.to_string()).join("\n"),
        )
    }

    /// Records the grant. The call itself is already approved, and stays so.
    ///
    /// # Errors
    /// The ledger cannot record it.
    pub async fn give(
        self,
        store: &dyn Store,
        waiting: &ApprovalRequest,
        by: &str,
    ) -> Result<Grant, OperatorError> {
        let granting = NewGrant {
            scope: waiting.id.scope.clone(),
            binding: waiting.question.binding,
            pattern: self.pattern.to_string(),
            by: by.to_owned(),
            lasts: self.lasts,
        };
        store.grant(granting).await.map_err(|error| {
            let id = waiting.short();
            OperatorError::Refused(format!(
                "{id} is approved, but the grant was not recorded: {}",
                shown(&error.to_string())
            ))
        })
    }
}

/// Returns a grant for programs.
#[must_use]
pub fn members(grant: &Grant, now: Moment) -> Value {
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
pub async fn kept(store: &dyn Store) -> Result<Vec<Grant>, OperatorError> {
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
pub fn summary(pattern: &str) -> Vec<String> {
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
            summary(&pattern.to_string()),
            [
                "  action is \"delete\"",
                "  path is \"notes\" or inside it",
                "  why is anything, or is omitted",
                "  and no other argument is present",
            ]
        );
        assert_eq!(summary("a\u{1b}"), [r"  what cannot be read here: a\u{1b}"]);
        assert!(summary(r#"{"a": {"like": 1}}"#)[0].contains("cannot be read"));
    }
}
