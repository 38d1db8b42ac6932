//! Where hosts store their servers: the user's own files first, then those of projects, the nearest folder first.
//!
//! Codex stores its servers in TOML, which this client does not read.

use std::path::{Path, PathBuf};

use super::Environment;

/// A member of a file that contains servers.
pub(super) struct ServerList {
    pub(super) file: PathBuf,
    /// The path of the member, from the root of the file.
    pub(super) member: Vec<String>,
    /// The project folder that these servers are for.
    pub(super) project: Option<PathBuf>,
    pub(super) owner: Owner,
}

/// Who wrote a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The user: the file is in the user's home or settings.
    User,
    /// The authors of a project. A cloned repository can bring their file with it, so the user must agree before it is used.
    Project,
}

/// How many folders are searched: the current one and its nearest parents.
const DEEPEST: usize = 64;

const SERVERS: &str = "mcpServers";

/// Returns all lists of servers, in order of precedence. A project never overrides a server of the user with the same name.
/// Otherwise, a name that the user knows would start another program in another folder.
pub(super) fn places(environment: &Environment) -> Vec<ServerList> {
    let home = environment.home.as_deref();
    let mut places = Vec::new();
    let of_claude = home.map(|home| home.join(".claude.json"));
    for folder in environment.folder.ancestors().take(DEEPEST) {
        let mut add = |file: PathBuf, member: &[&str], owner: Owner| {
            places.push(place(file, member, Some(folder), owner));
        };
        // The user's servers for one project, in Claude Code.
        if let (Some(file), Some(name)) = (&of_claude, folder.to_str()) {
            add(file.clone(), &["projects", name, SERVERS], Owner::User);
        }
        // The home is not a project: an author who can write there can write to the user's own files, too.
        let owner = if Some(folder) == home { Owner::User } else { Owner::Project };
        add(folder.join(".mcp.json"), &[SERVERS], owner);
        add(folder.join(".vscode/mcp.json"), &["servers"], owner);
        // In the home, the next file is the user's own. Folders above the home are not projects.
        if Some(folder) == home {
            break;
        }
        add(folder.join(".cursor/mcp.json"), &[SERVERS], owner);
    }
    let settings = environment.settings.as_ref();
    let beneath = |path: &str| home.map(|home| home.join(path));
    let of_user = [
        of_claude,
        beneath(".cursor/mcp.json"),
        settings.map(|settings| settings.join("Claude/claude_desktop_config.json")),
        beneath(".codeium/windsurf/mcp_config.json"),
        beneath(".gemini/settings.json"),
    ];
    let of_user = of_user.into_iter().flatten();
    places.extend(of_user.map(|file| place(file, &[SERVERS], None, Owner::User)));
    // The sort is stable: the nearest folder stays first.
    places.sort_by_key(|place| place.owner);
    places
}

fn place(file: PathBuf, member: &[&str], project: Option<&Path>, owner: Owner) -> ServerList {
    let member = member.iter().map(|name| (*name).to_owned()).collect();
    ServerList { file, member, project: project.map(Into::into), owner }
}
