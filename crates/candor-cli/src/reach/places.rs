//! Where hosts keep their servers, the nearest first.
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
}

/// Nobody works deeper than this.
const DEEPEST: usize = 64;

const SERVERS: &str = "mcpServers";

/// All places there may be, the nearest first: the folder, those above it, the person.
pub(super) fn places(here: &Surroundings) -> Vec<Place> {
    let home = here.home.as_deref();
    let mut places = Vec::new();
    let of_claude = home.map(|home| home.join(".claude.json"));
    for folder in here.folder.ancestors().take(DEEPEST) {
        let mut add =
            |file: PathBuf, member: &[&str]| places.push(place(file, member, Some(folder)));
        // What Claude Code keeps of one project for one person goes before what all share.
        if let (Some(file), Some(name)) = (&of_claude, folder.to_str()) {
            add(file.clone(), &["projects", name, SERVERS]);
        }
        add(folder.join(".mcp.json"), &[SERVERS]);
        add(folder.join(".vscode/mcp.json"), &["servers"]);
        // In the home, the next would be the file of the person, and what is above it is nobody's project.
        if Some(folder) == home {
            break;
        }
        add(folder.join(".cursor/mcp.json"), &[SERVERS]);
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
    places.extend(of_person.into_iter().flatten().map(|file| place(file, &[SERVERS], None)));
    places
}

fn place(file: PathBuf, member: &[&str], project: Option<&Path>) -> Place {
    let member = member.iter().map(|name| (*name).to_owned()).collect();
    Place { file, member, project: project.map(Into::into) }
}
