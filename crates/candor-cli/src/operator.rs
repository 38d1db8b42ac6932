//! The operator at the command line: the name that the ledger records, and what to type after a request failed.

use candor::operator::OperatorError;

use crate::exit::Failure;

#[derive(Debug, clap::Args)]
#[group(skip)] // flattened into the arguments of several commands
pub(crate) struct OperatorArgs {
    /// The operator's name [default: the user of this system]
    #[arg(long, value_name = "NAME", value_parser = named)]
    by: Option<String>,
}

impl OperatorArgs {
    pub(crate) fn name(&self) -> Result<String, Failure> {
        let by = self.by.clone().or_else(user);
        by.ok_or_else(|| Failure::usage("the operator's name is missing: use --by NAME"))
    }
}

/// Returns the sentence of an error, with the command that helps.
pub(crate) fn sentence(error: &OperatorError) -> String {
    let next = match error {
        OperatorError::UnknownOperation { least_digits: None, .. } => {
            "; `candor history` lists them".to_owned()
        }
        OperatorError::NotPending { id, .. } | OperatorError::OperationChanged { id, .. } => {
            format!(" See: candor history show {id}")
        }
        OperatorError::RequestChanged { id } => format!(": candor approvals show {id}"),
        OperatorError::Store(_)
        | OperatorError::UnknownOperation { least_digits: Some(_), .. }
        | OperatorError::Ambiguous { .. }
        | OperatorError::RequestUnreadable
        | OperatorError::AlreadyDecided { .. }
        | OperatorError::RequestEnded { .. }
        | OperatorError::AlreadyResolved { .. }
        | OperatorError::GrantNotRecorded { .. }
        | OperatorError::UnexpectedReply(_) => String::new(),
    };
    format!("{error}{next}")
}

fn named(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("write the operator's name") } else { Ok(text.to_owned()) }
}

/// Returns the user of this system by user id. A variable can name any user, so it is only the fallback.
#[cfg(unix)]
fn user() -> Option<String> {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1)? == id).then(|| name.to_owned())
    });
    // Users of a directory service are not in the file.
    let variable = || std::env::var("USER").ok().filter(|name| !name.trim().is_empty());
    name.or_else(variable).or_else(|| Some(format!("uid {id}")))
}

#[cfg(not(unix))]
fn user() -> Option<String> {
    std::env::var("USERNAME").ok().filter(|name| !name.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_names_the_command_that_helps() {
        let id = || "0123abcd".to_owned();
        let unknown = |least_digits| OperatorError::UnknownOperation {
            wanted: "abc".to_owned(),
            least_digits,
        };
        for (error, words) in [
            (
                unknown(None),
                "no operation has the id or the key `abc`; `candor history` lists them",
            ),
            (
                unknown(Some(4)),
                "no operation has the id or the key `abc`; an id has at least 4 digits",
            ),
            (
                OperatorError::NotPending { id: id(), state: "Succeeded" },
                "0123abcd is not an approval request. State: Succeeded. See: candor history show 0123abcd",
            ),
            (
                OperatorError::RequestChanged { id: id() },
                "Not recorded: request 0123abcd changed. Review it again: candor approvals show 0123abcd",
            ),
            (
                OperatorError::OperationChanged { id: id(), state: "Running" },
                "Not recorded: operation 0123abcd changed. State: Running. See: candor history show 0123abcd",
            ),
            (
                OperatorError::AlreadyResolved { id: id(), state: "Failed" },
                "Not recorded: only an unknown outcome can be resolved. State of 0123abcd: Failed",
            ),
        ] {
            assert_eq!(sentence(&error), words);
        }
    }
}
