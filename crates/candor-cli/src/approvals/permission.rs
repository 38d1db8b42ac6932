//! What a person permits for a while besides the call that they approve: which arguments, until when, and that in words.

use std::time::Duration;

use candor::Pattern;
use candor_ledger::{Grant, Granting, Moment, Scope, Store};
use serde_json::Value;

use super::waiting::{Asked, Waiting};
use crate::out::{Problem, misused, told};
use crate::shown::{json_shown, shown};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Permit calls like this one, too, for so long: 30s, 15m, 2h, 3d. Like this one: the same arguments, but for --any and --under
    #[arg(long = "for", value_name = "TIME", value_parser = when::read_length)]
    lasts: Option<Duration>,

    /// This argument may be anything, or be left out
    #[arg(long, value_name = "ARG", requires = "lasts")]
    any: Vec<String>,

    /// This argument may be this path, or any beneath it
    #[arg(long, value_name = "ARG=FOLDER", requires = "lasts", value_parser = named_folder)]
    under: Vec<(String, String)>,
}

fn named_folder(text: &str) -> Result<(String, String), &'static str> {
    let (name, folder) = text.split_once('=').ok_or("write ARG=FOLDER, such as path=notes")?;
    Ok((name.to_owned(), folder.to_owned()))
}

impl Args {
    /// What is to be permitted besides this call, if anything.
    pub(crate) fn of(&self, asked: &Asked) -> Result<Option<Permission>, Problem> {
        let Some(lasts) = self.lasts else { return Ok(None) };
        let any: Vec<_> = self.any.iter().map(String::as_str).collect();
        let under: Vec<_> =
            self.under.iter().map(|(name, at)| (name.as_str(), at.as_str())).collect();
        if let Some((name, _)) = under.iter().enumerate().find_map(|(at, pair)| {
            (any.contains(&pair.0) || under[..at].iter().any(|other| other.0 == pair.0))
                .then_some(*pair)
        }) {
            misused(&format!("`{}` is named twice by --any and --under", shown(name)));
        }
        let arguments: Value = serde_json::from_str(asked.arguments.get())
            .map_err(|error| told(format!("the arguments cannot be read: {error}")))?;
        match Pattern::like(&arguments, &any, &under) {
            Ok(pattern) => Ok(Some(Permission { pattern, lasts })),
            Err(error) => misused(&format!("nothing was decided: {}", shown(&error.to_string()))),
        }
    }
}

pub(crate) struct Permission {
    pattern: Pattern,
    lasts: Duration,
}

impl Permission {
    /// What it will mean.
    pub(crate) fn in_words(&self, scope: &Scope, now: Moment) -> String {
        let Scope { principal, server, instance, tool } = scope;
        format!(
            "until {} ({} from now), {} may call {} of {} ({}) without asking, as often as they like, where\n{}",
            when::written(now.after(self.lasts)),
            when::length(self.lasts),
            shown(principal),
            shown(tool),
            shown(server),
            shown(instance),
            in_words(&self.pattern.to_string()).join("\n"),
        )
    }

    /// Gives it. The call itself is approved by now, and stays so.
    pub(crate) async fn give(
        self,
        store: &dyn Store,
        waiting: &Waiting,
        by: String,
    ) -> Result<Grant, Problem> {
        let granting = Granting {
            scope: waiting.id.scope.clone(),
            binding: waiting.question.binding,
            pattern: self.pattern.to_string(),
            by,
            lasts: self.lasts,
        };
        store.grant(granting).await.map_err(|error| {
            let id = waiting.short();
            told(format!("{id} is approved, but nothing besides: {}", shown(&error.to_string())))
        })
    }
}

/// The lines of a pattern as the ledger keeps it.
pub(crate) fn in_words(pattern: &str) -> Vec<String> {
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
                    format!("is {} or stands beneath it", word(value))
                }
                Some((kind, _)) if kind == "any" => "is ANYTHING, or is left out".to_owned(),
                _ => format!("fits what cannot be read here: {}", word(fit)),
            };
            format!("  {} {fit}", shown(name))
        })
        .collect();
    lines.push("  and no other argument is given".to_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_told_in_words() {
        let call = serde_json::json!({"action": "delete", "path": "notes/a", "why": 7});
        let pattern = Pattern::like(&call, &["why"], &[("path", "notes")]).unwrap();
        assert_eq!(
            in_words(&pattern.to_string()),
            [
                "  action is \"delete\"",
                "  path is \"notes\" or stands beneath it",
                "  why is ANYTHING, or is left out",
                "  and no other argument is given",
            ]
        );
        assert_eq!(in_words("a\u{1b}"), [r"  what cannot be read here: a\u{1b}"]);
        assert!(in_words(r#"{"a": {"like": 1}}"#)[0].contains("cannot be read"));
    }
}
