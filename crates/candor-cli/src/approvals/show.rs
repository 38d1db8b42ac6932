//! `candor approvals show ID`: everything that a reviewer needs. Nothing is truncated here.

use candor_ledger::{Moment, Store};

use crate::out::{CommandEnd, Out};
use candor::operator::shown::shown;
use candor::operator::{ApprovalRequest, RequestDetails, find_request};
use candor::operator::{json, when};
use candor::protocol::Undo;

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsShowArgs {
    /// The first digits of its id, at least 4, or its key
    id: String,
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &ApprovalsShowArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let waiting = find_request(store, &args.id).await?;
    if out.json {
        out.line(&waiting.json())?;
        return Ok(());
    }
    for line in lines(&waiting, when::now(), |text| out.strong(text)) {
        out.line(&line)?;
    }
    let (id, same) = (waiting.short(), &out.same);
    let advice = format!(
        "\nDecide it:\n  candor approvals approve {id}{same}\n  candor approvals deny {id} [--reason TEXT]{same}"
    );
    out.line(&advice)?;
    Ok(())
}

/// Returns a request as lines. `strong` marks an effect that may delete or is unknown. Caller, server and tool are as the ledger
/// knows them; claims of others are labeled as theirs.
pub(crate) fn lines(
    waiting: &ApprovalRequest,
    now: Moment,
    strong: impl Fn(&str) -> String,
) -> Vec<String> {
    let scope = &waiting.id.scope;
    let asked = waiting.details();
    let mut lines = vec![format!("{}  {}", shown(&scope.tool), effect(asked.as_ref(), strong))];
    let mut fact = |name: &str, value: &str| lines.push(format!("  {name:<10} {value}"));
    fact("id", &waiting.id.digest().to_string());
    fact("key", &shown(waiting.id.key.as_str()).to_string());
    fact("caller", &shown(&scope.principal).to_string());
    fact("server", &format!("{}  {}", shown(&scope.server), shown(&scope.instance)));
    let waits = when::length(waiting.since.until(now));
    fact("requested", &format!("{} ({waits} ago)", when::written(waiting.since)));
    fact("expires", &when::written(waiting.until));
    let Some(asked) = asked else {
        lines.push("\nrequest (this version of candor cannot read it)".to_owned());
        lines.push(match json::text(waiting.bytes()) {
            Some(text) => json::pretty(text, "  "),
            None => format!("  {}", shown(&String::from_utf8_lossy(waiting.bytes()))),
        });
        return lines;
    };
    let client = asked
        .client
        .as_deref()
        .map_or_else(|| "unnamed".to_owned(), |client| format!("claims to be: {}", shown(client)));
    fact("client", &client);
    lines.push("\narguments".to_owned());
    lines.push(json::pretty(asked.arguments.get(), "  "));
    if let Some(preview) = &asked.preview {
        lines.push("\npreview".to_owned());
        lines.extend(preview.lines().map(|line| format!("  | {}", shown(line))));
    }
    let of_author = asked.title.iter().chain(&asked.description);
    let of_author: Vec<_> = of_author.flat_map(|text| text.lines()).collect();
    if !of_author.is_empty() {
        lines.push("\nthe tool author's description".to_owned());
        lines.extend(of_author.iter().map(|line| format!("  | {}", shown(line))));
    }
    if asked.description.is_none() {
        lines.push("\n  (the tool has no description)".to_owned());
    }
    if !asked.is_read_only() {
        let undo = Undo::summary(asked.undo.as_ref());
        lines.push(format!("\n{}", shown(&undo)));
    }
    lines
}

/// Returns the effect in words. `strong` marks one that may delete or is unknown.
pub(crate) fn effect(asked: Option<&RequestDetails>, strong: impl Fn(&str) -> String) -> String {
    match asked {
        Some(asked) if asked.is_destructive() => strong(&shown(&asked.summary).to_string()),
        Some(asked) => shown(&asked.summary).to_string(),
        None => strong("effect unknown"),
    }
}
