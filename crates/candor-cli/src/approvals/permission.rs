//! The flags by which a person permits calls like the one that they approve.

use std::time::Duration;

use candor::desk::{Asked, Permission, when};

use crate::exit::Failure;

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
    pub(crate) fn of(&self, asked: &Asked) -> Result<Option<Permission>, Failure> {
        let Some(lasts) = self.lasts else { return Ok(None) };
        let any: Vec<_> = self.any.iter().map(String::as_str).collect();
        let under: Vec<_> =
            self.under.iter().map(|(name, at)| (name.as_str(), at.as_str())).collect();
        let permission = Permission::like(asked, &any, &under, lasts);
        permission
            .map(Some)
            .map_err(|problem| Failure::usage(format!("nothing was decided: {problem}")))
    }
}
