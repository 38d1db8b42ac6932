//! `candor approvals grants` and `revoke ID`: what is permitted for a while, and the end of it.

use candor_ledger::{Grant, Moment, Scope, Store};

use crate::out::{Out, Problem, told};
use candor::desk::permission::{in_words, kept, members};
use candor::desk::shown::shown;
use candor::desk::when;

use crate::operator;

/// What programs may rely on.
pub(crate) const MEMBERS: &str = "\
The members of each line with --json (null where there is nothing):
  id                  32 hexadecimal digits
  principal, server, instance, tool
                      who may call what, where
  pattern             with which arguments: each {\"is\": VALUE}, {\"under\": FOLDER} or {\"any\": true}
  binding             what it is bound to: the tool as it was, and the policy; null: void, for no call
  by, since, until    who permits it, when, and how long
  inForce             whether it is, now
  revokedBy, revokedAt
                      who has taken it back, and when";

/// So many digits name a grant where they are shown.
const SHORT: usize = 8;

/// Fewer digits are more likely a mistake than an id.
const LEAST: usize = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Those that have ended, too
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Revoke {
    /// The first digits of its id, at least 4
    id: String,

    #[command(flatten)]
    operator: operator::Args,
}

pub(crate) fn short(grant: &Grant) -> String {
    grant.id.to_string()[..SHORT].to_owned()
}

pub(crate) async fn run(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    let now = when::now();
    let grants = kept(store).await?;
    let listed: Vec<_> = grants.iter().filter(|grant| args.all || grant.is_in_force(now)).collect();
    if out.json {
        for grant in listed {
            out.value(&members(grant, now))?;
        }
        return Ok(());
    }
    if listed.is_empty() {
        let ended = if grants.is_empty() { "" } else { " --all lists what has ended." };
        eprintln!(
            "Nothing is permitted for a while in the ledger ({}).{ended}",
            shown(&store.describe())
        );
        return Ok(());
    }
    for grant in listed {
        for line in lines(grant, now) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    eprintln!("Take one back: candor approvals revoke ID{}", out.same);
    Ok(())
}

fn lines(grant: &Grant, now: Moment) -> Vec<String> {
    let Scope { principal, server, instance, tool } = &grant.scope;
    let by = shown(&grant.by);
    let stands = match &grant.revoked {
        Some((by, at)) => format!("taken back by {} at {}", shown(by), when::written(*at)),
        None if grant.binding.is_none() && grant.is_in_force(now) => {
            format!(
                "VOID, said {by} by a program that did not bind it to the tool: a person is asked again"
            )
        }
        None if grant.is_in_force(now) => format!(
            "until {} ({} left), says {by}",
            when::written(grant.until),
            when::length(now.until(grant.until))
        ),
        None => format!("ended {}, said {by}", when::written(grant.until)),
    };
    let mut lines = vec![
        format!("{}  {stands}", short(grant)),
        format!(
            "  {} may call {} of {} ({}) where",
            shown(principal),
            shown(tool),
            shown(server),
            shown(instance)
        ),
    ];
    lines.extend(in_words(&grant.pattern).into_iter().map(|line| format!("  {line}")));
    lines
}

/// Asks nobody: whoever takes back too much is asked once more than needed, later.
pub(crate) async fn revoke(store: &dyn Store, args: &Revoke, out: &mut Out) -> Result<(), Problem> {
    let wanted = args.id.to_lowercase();
    let mut found = kept(store).await?;
    found.retain(|grant| wanted.len() >= LEAST && grant.id.to_string().starts_with(&wanted));
    let id = match &found[..] {
        [grant] => grant.id,
        [] => {
            return Err(told(format!(
                "nothing that is permitted has the id `{}`: at least {LEAST} digits, as `candor approvals grants` lists them",
                shown(&args.id)
            )));
        }
        several => {
            let ids: Vec<_> = several.iter().map(|grant| format!("\n  {}", grant.id)).collect();
            return Err(told(format!("it may be one of these; name one:{}", ids.concat())));
        }
    };
    let grant = store.revoke(id, args.operator.name()?).await?;
    let Some(grant) = grant else { return Err(told("it is no longer on record")) };
    if out.json {
        out.value(&members(&grant, when::now()))?;
        return Ok(());
    }
    let id = short(&grant);
    out.line(&match &grant.revoked {
        Some((by, at)) => {
            format!("{id}  taken back by {} at {}.", shown(by), when::written(*at))
        }
        None => format!("{id}  had ended by itself, {}.", when::written(grant.until)),
    })?;
    Ok(())
}
