//! The flags that grant calls like the approved one.

use std::time::Duration;

use candor::operator::{GrantDraft, RequestDetails, when};

use crate::exit::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct GrantArgs {
    /// Also grant calls like this one for this long: 30s, 15m, 2h, 3d. Their arguments must be equal, except those in --any and --under
    #[arg(long = "for", value_name = "TIME", value_parser = when::read_length)]
    lasts: Option<Duration>,

    /// Allow any value of this argument, or none
    #[arg(long, value_name = "ARG", requires = "lasts")]
    any: Vec<String>,

    /// Allow this path, or any inside it
    #[arg(long, value_name = "ARG=FOLDER", requires = "lasts", value_parser = named_folder)]
    under: Vec<(String, String)>,
}

fn named_folder(text: &str) -> Result<(String, String), &'static str> {
    let (name, folder) = text.split_once('=').ok_or("write ARG=FOLDER, such as path=notes")?;
    Ok((name.to_owned(), folder.to_owned()))
}

impl GrantArgs {
    /// Returns the grant that the flags ask for, if any.
    pub(crate) fn of(&self, asked: &RequestDetails) -> Result<Option<GrantDraft>, Failure> {
        let Some(lasts) = self.lasts else { return Ok(None) };
        let any: Vec<_> = self.any.iter().map(String::as_str).collect();
        let under: Vec<_> =
            self.under.iter().map(|(name, at)| (name.as_str(), at.as_str())).collect();
        let permission = GrantDraft::like(asked, &any, &under, lasts);
        permission.map(Some).map_err(|problem| Failure::usage(format!("Not recorded: {problem}")))
    }
}
