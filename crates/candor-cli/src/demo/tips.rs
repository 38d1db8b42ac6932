//! What to try, as commands that can be pasted.

use candor_ledger::LedgerAddress;

use super::seeds::{CUSTOMER, OLD};
use crate::ledger;
use crate::shell::quoted;

/// What there is to say beyond the address.
pub(super) struct Tips {
    /// Whether a person is asked about anything.
    pub(super) asks: bool,
    /// Whether there are pages to decide on.
    pub(super) console: bool,
    pub(super) ledger: String,
}

impl Tips {
    /// One idea a line, and the command for it.
    pub(super) fn lines(&self, port: u16) -> Vec<String> {
        let at = format!(":{port}");
        // No other process can read a ledger in memory.
        let is_shared = !matches!(LedgerAddress::parse(&self.ledger), Ok(LedgerAddress::Memory));
        let decide = is_shared.then(|| format!("candor approvals {}", ledger::flag(&self.ledger)));
        let delete = format!("manage_files path={OLD} action=delete");
        let charge = format!(
            "candor call {at} create_invoice customer_id={CUSTOMER} amount_cents=1999 --key demo-1"
        );
        let mut ideas = vec![
            ("the tools and their effects", vec![format!("candor tools {at}")]),
            (
                "the effect of a call, without running it",
                vec![format!("candor explain {at} {delete}")],
            ),
        ];
        if self.asks {
            let idea = match (self.console, is_shared) {
                (true, true) => {
                    "the same call: it needs approval, in the console or from a third terminal"
                }
                (false, true) => "the same call: it needs approval, from a third terminal",
                (true, false) => "the same call: it needs approval, in the console",
                (false, false) => {
                    "the same call: it needs approval; to give it, leave out --ledger memory: or --no-console"
                }
            };
            let call = format!("candor call {at} {delete}");
            ideas.push((idea, [call].into_iter().chain(decide).collect()));
        }
        ideas.extend([
            ("a charge; send it twice: one key, one invoice", vec![charge]),
            (
                "a preview of a database migration",
                vec![format!("candor call {at} execute_migration migration_id=refunds --preview")],
            ),
            (
                "the files and the invoices as a tree",
                vec![
                    format!("candor resources {at}"),
                    format!("candor read {at} db:///invoices/2"),
                ],
            ),
            (
                "a server that is killed between a charge and its answer",
                vec!["candor demo --crash".to_owned()],
            ),
        ]);
        let mut lines = vec!["Try this, in another terminal:".to_owned()];
        // Whoever has built it and not installed it can paste the rest all the same.
        let program = crate::program::ourselves();
        if program != "candor" {
            // Once for the alias, once for the line that it stands in.
            lines.push(format!("     alias candor={}", quoted(&program)));
        }
        for (number, (idea, commands)) in ideas.into_iter().enumerate() {
            lines.push(format!("  {}. {idea}", number + 1));
            lines.extend(commands.into_iter().map(|command| format!("       {command}")));
        }
        lines
    }
}
