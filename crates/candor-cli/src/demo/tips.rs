//! Commands to try, ready to paste.

use candor_ledger::LedgerAddress;

use super::seeds::{CUSTOMER, OLD};
use crate::ledger;
use crate::shell::quoted;

/// What the tips depend on, besides the address.
pub(super) struct Tips {
    /// True if some calls need approval.
    pub(super) asks: bool,
    /// True if the console is available for decisions.
    pub(super) console: bool,
    pub(super) ledger: String,
}

impl Tips {
    /// Returns the tips, each with its commands.
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
        // If the program was built but not installed, the alias makes the other lines work.
        let program = crate::program::ourselves();
        if program != "candor" {
            // `ourselves` has quoted the path for the alias. This quotes it for the line that defines the alias.
            lines.push(format!("     alias candor={}", quoted(&program)));
        }
        for (number, (idea, commands)) in ideas.into_iter().enumerate() {
            lines.push(format!("  {}. {idea}", number + 1));
            lines.extend(commands.into_iter().map(|command| format!("       {command}")));
        }
        lines
    }
}
