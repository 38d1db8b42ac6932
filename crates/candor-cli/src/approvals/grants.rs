//! `candor approvals grants` and `revoke ID`: lists active grants, and revokes one.

use candor_ledger::{Grant, Moment, Scope, Store};

use crate::out::{CommandEnd, Out, told};
use candor::operator::shown::shown;
use candor::operator::when;
use candor::operator::{grant_json, grants, pattern_summary};

use crate::operator;

/// The JSON members that programs may rely on.
pub(crate) const MEMBERS: &str = "\
The members of each line with --json (null where there is nothing):
  id                  32 hexadecimal digits
  principal, server, instance, tool
                      who may call what, where
  pattern             with which arguments: each {\"is\": VALUE}, {\"under\": FOLDER} or {\"any\": true}
  binding             what it is bound to: the tool as it was, and the policy; null: void, for no call
  by, since, until    who granted it, when, and when it expires
  active              whether it counts now
  revokedBy, revokedAt
                      who revoked it, and when";

/// The number of id digits that are shown.
const SHORT: usize = 8;

/// The minimum number of id digits. Fewer are more likely a mistake than an id.
const LEAST: usize = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsGrantsArgs {
    /// List grants that have ended, too
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Revoke {
    /// The first digits of its id, at least 4
    id: String,

    #[command(flatten)]
    operator: operator::OperatorArgs,
}

pub(crate) fn short(grant: &Grant) -> String {
    grant.id.to_string()[..SHORT].to_owned()
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &ApprovalsGrantsArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let now = when::now();
    let grants = grants(store).await?;
    let listed: Vec<_> = grants.iter().filter(|grant| args.all || grant.is_in_force(now)).collect();
    if out.json {
        for grant in listed {
            out.value(&grant_json(grant, now))?;
        }
        return Ok(());
    }
    if listed.is_empty() {
        let ended = if grants.is_empty() { "" } else { " Use --all for grants that have ended." };
        eprintln!("No active grants in the ledger ({}).{ended}", shown(&store.describe()));
        return Ok(());
    }
    for grant in listed {
        for line in lines(grant, now) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    eprintln!("Revoke one: candor approvals revoke ID{}", out.same);
    Ok(())
}

fn lines(grant: &Grant, now: Moment) -> Vec<String> {
    let Scope { principal, server, instance, tool } = &grant.scope;
    let by = shown(&grant.by);
    let stands = match &grant.revoked {
        Some((by, at)) => format!("revoked by {} at {}", shown(by), when::written(*at)),
        None if grant.binding.is_none() && grant.is_in_force(now) => {
            format!(
                "not valid (granted by {by}): it is not bound to the tool's definition, so calls still need approval"
            )
        }
        None if grant.is_in_force(now) => format!(
            "until {} ({} left), by {by}",
            when::written(grant.until),
            when::length(now.until(grant.until))
        ),
        None => format!("ended {}, by {by}", when::written(grant.until)),
    };
    let mut lines = vec![
        format!("{}  {stands}", short(grant)),
        format!(
            "  {} may call {} of {} ({}) when:",
            shown(principal),
            shown(tool),
            shown(server),
            shown(instance)
        ),
    ];
    lines.extend(pattern_summary(&grant.pattern).into_iter().map(|line| format!("  {line}")));
    lines
}

/// Needs no confirmation: a grant that is revoked by mistake only leads to one more approval request.
pub(crate) async fn revoke(
    store: &dyn Store,
    args: &Revoke,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let wanted = args.id.to_lowercase();
    let mut found = grants(store).await?;
    found.retain(|grant| wanted.len() >= LEAST && grant.id.to_string().starts_with(&wanted));
    let id = match &found[..] {
        [grant] => grant.id,
        [] => {
            return Err(told(format!(
                "no grant has the id `{}`: use at least {LEAST} digits from `candor approvals grants`",
                shown(&args.id)
            )));
        }
        several => {
            let ids: Vec<_> = several.iter().map(|grant| format!("\n  {}", grant.id)).collect();
            return Err(told(format!("it may be one of these; name one:{}", ids.concat())));
        }
    };
    let grant = store.revoke(id, args.operator.name()?).await?;
    let Some(grant) = grant else { return Err(told("its record is purged")) };
    if out.json {
        out.value(&grant_json(&grant, when::now()))?;
        return Ok(());
    }
    let id = short(&grant);
    out.line(&match &grant.revoked {
        Some((by, at)) => {
            format!("{id}  revoked by {} at {}.", shown(by), when::written(*at))
        }
        None => format!("{id}  expired already, {}.", when::written(grant.until)),
    })?;
    Ok(())
}
