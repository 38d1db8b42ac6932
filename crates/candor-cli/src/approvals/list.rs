//! `candor approvals`: approval requests, the oldest first.

use candor_ledger::{Moment, Store};

use crate::out::{CommandEnd, Out};
use crate::width::cut;
use candor::operator::shown::shown;
use candor::operator::{ApprovalRequest, PendingRequests};
use candor::operator::{json, when};

/// The JSON members that programs may rely on, for `list` and `show`. `ApprovalRequest::json` in `candor-operator` writes them.
pub(crate) const MEMBERS: &str = "\
The members of each line with --json:
  id                  of the operation, 64 hexadecimal digits
  principal, server, instance, tool, key
                      who called what, where, with which key
  requestedAt, expiresAt
                      when the request was made, and when it expires
  fence, fingerprint, binding
                      version of the request: a decision is on exactly this one
  request             what the reviewer is shown, as it is stored: tool, title, arguments, secrets
                      (redacted arguments, by name), effect, annotations, description
                      (the tool author's words), client (as it calls itself), preview (what the
                      tool's own preview shows), undo (null, or possible: whether the call can be undone,
                      and tool: the tool that undoes it), operation";

const HEAD: [&str; 7] = ["ID", "AGE", "CALLER", "SERVER", "TOOL", "EFFECT", "ARGUMENTS"];

pub(crate) async fn run(store: &dyn Store, out: &mut Out) -> Result<(), CommandEnd> {
    let (now, mut lines, mut all) = (when::now(), Vec::new(), PendingRequests::new(store));
    while let Some(waiting) = all.next().await? {
        if out.json {
            out.line(&waiting.json())?;
        } else {
            lines.push(line(&waiting, now));
        }
    }
    if out.json {
        return Ok(());
    }
    if lines.is_empty() {
        let ledger = store.describe();
        eprintln!("No approval requests in the ledger ({}).", shown(&ledger));
        return Ok(());
    }
    out.table(HEAD, &lines)?;
    out.flush()?;
    // If there are several requests, the operator fills in the id.
    let id: &str = if let [(_, [id, ..])] = &lines[..] { id } else { "ID" };
    let same = &out.same;
    eprintln!(
        "Review it, then decide:\n  candor approvals show {id}{same}\n  candor approvals approve {id}{same}\n  \
         candor approvals deny {id} [--reason TEXT]{same}"
    );
    Ok(())
}

/// Returns the cells of a request. The flag marks a request that may delete or cannot be read.
pub(crate) fn line(waiting: &ApprovalRequest, now: Moment) -> (bool, [String; 7]) {
    let scope = &waiting.id.scope;
    let asked = waiting.details();
    let (effect, arguments) = match &asked {
        Some(asked) => (cut(&asked.summary, 60), cut(&json::compact(asked.arguments.get()), 60)),
        None => ("Not known".to_owned(), "unreadable".to_owned()),
    };
    let cells = [
        waiting.short(),
        when::length(waiting.since.until(now)),
        cut(&scope.principal, 16),
        cut(&format!("{} {}", scope.server, scope.instance), 40),
        cut(&scope.tool, 24),
        effect,
        arguments,
    ];
    (asked.is_none_or(|asked| asked.is_destructive()), cells)
}
