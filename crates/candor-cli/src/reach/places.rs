//! Where hosts keep their servers: what the person keeps first, then what projects bring, each the nearest first.
//!
//! Codex keeps them in TOML, which nothing here reads.

use std::path::{Path, PathBuf};

use super::Surroundings;

/// A member of a file that names servers.
pub(super) struct Place {
    pub(super) file: PathBuf,
    /// The way to the member, from the top of the file.
    pub(super) member: Vec<String>,
    /// The folder that these servers are for.
    pub(super) project: Option<PathBuf>,
    pub(super) whose: Whose,
}

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// It stands in the home of the person.
    Persons,
    /// It came with a project: whoever wrote that is nobody we know.
    Projects,
}

/// Nobody works deeper than this.
const DEEPEST: usize = 64;

const SERVERS: &str = "mcpServers";

/// All places there may be, in the order in which they are believed. No project takes the place of a server that the person has under
/// the same name: what they have typed for months would start another program in another folder.
pub(super) fn places(here: &Surroundings) -> Vec<Place> {
    let home = here.home.as_deref();
    let mut places = Vec::new();
    let of_claude = home.map(|home| home.join(".claude.json"));
    for folder in here.folder.ancestors().take(DEEPEST) {
        let mut add = |file: PathBuf, member: &[&str], whose: Whose| {
            places.push(place(file, member, Some(folder), whose));
        };
        // What Claude Code keeps of one project for one person.
        if let (Some(file), Some(name)) = (&of_claude, folder.to_str()) {
            add(file.clone(), &["projects", name, SERVERS], Whose::Persons);
        }
        // A home is nobody's project: whoever can write there can write to the person's own files, too.
        let whose = if Some(folder) == home { Whose::Persons } else { Whose::Projects };
        add(folder.join(".mcp.json"), &[SERVERS], whose);
        add(folder.join(".vscode/mcp.json"), &["servers"], whose);
        // In the home, the next would be the file of the person, and what is above it is nobody's project.
        if Some(folder) == home {
            break;
        }
        add(folder.join(".cursor/mcp.json"), &[SERVERS], whose);
    }
    let settings = here.settings.as_ref();
    let beneath = |path: &str| home.map(|home| home.join(path));
    let of_person = [
        of_claude,
        beneath(".cursor/mcp.json"),
        settings.map(|settings| settings.join("Claude/claude_desktop_config.json")),
        beneath(".codeium/windsurf/mcp_config.json"),
        beneath(".gemini/settings.json"),
    ];
    let of_person = of_person.into_iter().flatten();
    places.extend(of_person.map(|file| place(file, &[SERVERS], None, Whose::Persons)));
    // Those of one kind stay in their order.
    places.sort_by_key(|place| place.whose);
    places
}

fn place(file: PathBuf, member: &[&str], project: Option<&Path>, whose: Whose) -> Place {
    let member = member.iter().map(|name| (*name).to_owned()).collect();
    Place { file, member, project: project.map(Into::into), whose }
}
