//! The cargo workspace around a new crate. Cargo refuses to build a crate inside a workspace that is not a member of it.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The workspace in the nearest folder above whose manifest has one.
pub(super) struct Workspace {
    root: PathBuf,
    /// Paths and patterns, as written in the manifest.
    members: Vec<String>,
}

impl Workspace {
    /// Finds the workspace that a folder is in.
    pub(super) fn around(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(|root| {
            let manifest = fs::read_to_string(root.join("Cargo.toml")).ok()?;
            Some(Self { root: root.to_owned(), members: members(&manifest)? })
        })
    }

    /// Returns true if a crate in this folder is a member.
    pub(super) fn takes(&self, folder: &Path) -> bool {
        let Ok(path) = folder.strip_prefix(&self.root) else { return false };
        let path = names(path);
        self.members.iter().any(|member| matches(&names(Path::new(member)), &path))
    }
}

/// Returns the members that the manifest of a workspace lists; `None` if it is not the manifest of a workspace.
fn members(manifest: &str) -> Option<Vec<String>> {
    let lines = manifest.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines: Vec<_> = lines.collect();
    let is_table = |line: &&str| *line == "[workspace]";
    if !lines.iter().any(|line| is_table(line) || line.starts_with("[workspace.")) {
        return None;
    }
    let table = lines.iter().skip_while(|line| !is_table(line)).skip(1);
    let table = table.take_while(|line| !line.starts_with('['));
    let table: String = table.flat_map(|line| ["\n", line]).collect();
    let list = table.split_once("\nmembers").and_then(|(_, list)| list.split_once('['));
    let list = list.and_then(|(_, list)| list.split(']').next()).unwrap_or_default();
    // Every second part is in quotes.
    Some(list.split(['"', '\'']).skip(1).step_by(2).map(str::to_owned).collect())
}

fn names(path: &Path) -> Vec<&str> {
    let names = path.components().filter(|part| *part != Component::CurDir);
    names.map(|part| part.as_os_str().to_str().unwrap_or_default()).collect()
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", more)), _) => {
            matches(more, path)
                || path.split_first().is_some_and(|(_, path)| matches(pattern, path))
        }
        (Some((first, more)), Some((name, path))) => {
            is_like(first.as_bytes(), name.as_bytes()) && matches(more, path)
        }
        _ => false,
    }
}

fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        // A character class counts as a match: a `[workspace]` table in a member would break the whole workspace.
        (None, None) | (Some((b'[', _)), _) => true,
        (Some((b'*', more)), _) => {
            is_like(more, name)
                || name.split_first().is_some_and(|(_, name)| is_like(pattern, name))
        }
        (Some((b'?', pattern)), Some((_, name))) => is_like(pattern, name),
        (Some((p, pattern)), Some((n, name))) => p == n && is_like(pattern, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_without_a_workspace_has_no_members() {
        assert_eq!(members("[package]\nname = \"x\" # [workspace]\n"), None);
        assert_eq!(members("[workspaces]\n"), None);
        assert_eq!(members("[workspace.dependencies]\nmembers = [\"a\"]\n"), Some(vec![]));
        assert_eq!(members("[package]\n[workspace]\nresolver = \"3\"\n"), Some(vec![]));
        let listed = "[workspace]\ndefault-members = [\"d\"]\nmembers = [\n  \"a\", # \"b\"\n  'crates/*',\n]\n[profile]\nx = [\"c\"]\n";
        assert_eq!(members(listed), Some(vec!["a".to_owned(), "crates/*".to_owned()]));
    }

    #[test]
    fn workspace_members_match_paths_and_patterns() {
        let workspace =
            |member: &str| Workspace { root: "/w".into(), members: vec![member.into()] };
        let takes = |member: &str, path: &str| workspace(member).takes(Path::new(path));
        for (member, path) in [
            ("x", "/w/x"),
            ("./x/", "/w/x"),
            ("*", "/w/x"),
            ("crates/*", "/w/crates/x"),
            ("crates/a-?*", "/w/crates/a-xy"),
            ("**/x", "/w/a/b/x"),
            ("crates/**", "/w/crates/a/x"),
            ("[a-z]", "/w/x"),
        ] {
            assert!(takes(member, path), "{member} {path}");
        }
        for (member, path) in [
            ("x", "/w/xy"),
            ("*", "/w/a/x"),
            ("crates/*", "/w/x"),
            ("crates/*", "/w/crates/a/x"),
            ("../x", "/w/x"),
            ("x", "/v/x"),
        ] {
            assert!(!takes(member, path), "{member} {path}");
        }
    }
}
