//! Names in real files, in a folder of the test's own.

use std::fs;
use std::path::{Path, PathBuf};

use super::find;
use crate::exit::Exit;
use crate::targets::CliEnvironment;
use candor_client::config::{Owner, ServerEntry, Target};

/// A home with a project in it, and the folder `deep/er` within that.
struct Ground(PathBuf);

impl Ground {
    fn new(test: &str) -> Self {
        let name = format!("candor-lookup-{}-{test}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("project/deep/er")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// One server `notes`, started by a program of this name.
    fn notes(&self, file: &str, key: &str, program: &str) -> PathBuf {
        self.write(file, &format!(r#"{{"{key}": {{"notes": {{"command": "{program}"}}}}}}"#))
    }

    fn find(&self, name: &str) -> Result<(ServerEntry, Vec<String>), crate::exit::Failure> {
        let here = CliEnvironment::of_test(self.0.join("project/deep/er"), self.0.clone(), &[]);
        find(name, &here)
    }

    fn program(&self) -> String {
        match self.find("notes").unwrap().0.target() {
            Target::Program { program, .. } => program.clone(),
            other @ Target::Url { .. } => panic!("{other:?}"),
        }
    }

    fn refused(&self, name: &str) -> (Exit, String) {
        let failure = self.find(name).map(|_| ()).unwrap_err();
        (failure.exit, failure.to_string())
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn users_own_file_wins_over_the_nearest_project_file() {
    let ground = Ground::new("nearest");
    // In order of precedence, the lowest first: those of projects, then the user's own. Each overrides all before it.
    let places = [
        ("project/.cursor/mcp.json", "mcpServers"),
        ("project/.vscode/mcp.json", "servers"),
        ("project/.mcp.json", "mcpServers"),
        ("project/deep/.mcp.json", "mcpServers"),
        ("project/deep/er/.cursor/mcp.json", "mcpServers"),
        ("project/deep/er/.mcp.json", "mcpServers"),
        (".gemini/settings.json", "mcpServers"),
        (".codeium/windsurf/mcp_config.json", "mcpServers"),
        (".config/Claude/claude_desktop_config.json", "mcpServers"),
        (".cursor/mcp.json", "mcpServers"),
        (".claude.json", "mcpServers"),
        (".vscode/mcp.json", "servers"),
        (".mcp.json", "mcpServers"),
    ];
    for (count, (file, key)) in places.into_iter().enumerate() {
        let path = ground.notes(file, key, file);
        let (entry, notes) = ground.find("notes").unwrap();
        assert_eq!(ground.program(), file);
        assert_eq!(entry.file(), path);
        assert_eq!(notes.len(), count, "{notes:?}");
        let used = format!(" in {} is used", path.display());
        assert!(notes.iter().all(|note| note.contains(&used)), "{notes:?}");
        let projects = notes.iter().filter(|note| note.contains("as well; your own in "));
        let of_person = entry.owner() == Owner::User;
        assert_eq!(projects.count(), if of_person { 6 } else { 0 }, "{notes:?}");
        assert_eq!(of_person, !file.starts_with("project"), "{file}");
    }
}

#[test]
fn lookup_stops_at_the_home_folder() {
    let ground = Ground::new("above");
    ground.notes(".mcp.json", "mcpServers", "serve");
    let home = ground.0.join("project");
    let here = CliEnvironment::of_test(home.join("deep/er"), home, &[]);
    assert_eq!(find("notes", &here).map(|_| ()).unwrap_err().exit, Exit::Usage);
    assert_eq!(ground.program(), "serve", "from a home folder farther up");
}

#[test]
fn claude_code_project_entry_applies_only_to_its_project() {
    let ground = Ground::new("claude");
    let project = ground.0.join("project");
    let entry = |folder: &Path, program: &str| {
        let value = serde_json::json!({"projects": {folder.to_str().unwrap(): {"mcpServers": {"notes": {"command": program}}}}});
        ground.write(".claude.json", &value.to_string());
    };
    entry(&ground.0.join("another"), "another");
    assert_eq!(ground.refused("notes").0, Exit::Usage);
    entry(&project, "ours");
    assert_eq!(ground.program(), "ours");
    assert_eq!(ground.find("notes").unwrap().0.project(), Some(&*project));
}

#[test]
fn unknown_name_is_refused_with_suggestions() {
    let ground = Ground::new("unknown");
    let (exit, message) = ground.refused("notes");
    assert_eq!(exit, Exit::Usage);
    assert!(message.contains("No file has a server"), "{message}");

    ground.write("project/.mcp.json", r#"{"mcpServers": {"github": {}, "a\u001b[2J": {}}}"#);
    let (exit, message) = ground.refused("gihtub");
    assert_eq!(exit, Exit::Usage);
    assert!(message.contains("Did you mean github?"), "{message}");
    assert!(message.contains(r"a\u{1b}[2J") && !message.contains('\u{1b}'), "{message}");
    assert!(message.contains("project/.mcp.json"), "{message}");
    for (word, hint) in [
        ("7332", "is written :7332"),
        ("example.com:8080", "https://example.com:8080"),
        ("./server.py", "-- ./server.py"),
    ] {
        let message = ground.refused(word).1;
        assert!(message.contains(hint), "{word}: {message}");
    }
}

#[test]
fn malformed_file_fails_only_if_no_other_file_has_the_name() {
    let ground = Ground::new("malformed");
    for (text, place) in [
        ("{\n  \"mcpServers\": {\n    oops\n", "line 3 column 5"),
        ("[]", "expected an object"),
        (r#"{"mcpServers": []}"#, "at /mcpServers: expected an object"),
        ("\u{0}", "line 1 column 1"),
    ] {
        let file = ground.write("project/.mcp.json", text);
        let (exit, message) = ground.refused("notes");
        assert_eq!(exit, Exit::Failed);
        assert!(message.contains(&file.display().to_string()), "{message}");
        assert!(message.contains(place), "{text:?}: {message}");
    }
    ground.notes("project/.cursor/mcp.json", "mcpServers", "serve");
    let (_, notes) = ground.find("notes").unwrap();
    assert!(notes[0].starts_with("skipped: ") && notes[0].contains(".mcp.json"), "{notes:?}");
    // A broken file of lower precedence does not matter; one of the user's own does.
    ground.write(".cursor/mcp.json", "{");
    assert_eq!(ground.find("notes").unwrap().1.len(), 2);
    ground.notes(".claude.json", "mcpServers", "own");
    assert_eq!(ground.find("notes").unwrap().1.len(), 1, "the note about the project's entry");
    for file in [".claude.json", ".cursor/mcp.json"] {
        fs::remove_file(ground.0.join(file)).unwrap();
    }
    // Settings without servers and empty files give no note.
    ground.write("project/.mcp.json", "\n");
    ground.write(".gemini/settings.json", r#"{"theme": "dark", /* JSON with comments */ }"#);
    assert_eq!(ground.find("notes").unwrap().1, [""; 0]);
}

#[test]
fn invalid_entry_does_not_fall_back_to_another_file() {
    let ground = Ground::new("entry");
    ground.notes("project/.mcp.json", "mcpServers", "serve");
    ground.write(".cursor/mcp.json", r#"{"mcpServers": {"notes": {"type": "stdio"}}}"#);
    let (exit, message) = ground.refused("notes");
    assert_eq!(exit, Exit::Failed);
    assert!(message.contains("neither `command` nor `url`"), "{message}");
}

#[cfg(unix)]
#[test]
fn oversized_and_special_files_are_refused() {
    let ground = Ground::new("odd");
    fs::create_dir_all(ground.0.join("project/.mcp.json")).unwrap();
    let large = fs::File::create(ground.0.join("project/deep/.mcp.json")).unwrap();
    large.set_len(17 * 1024 * 1024).unwrap();
    std::os::unix::fs::symlink("/dev/zero", ground.0.join("project/deep/er/.mcp.json")).unwrap();
    let (_, message) = ground.refused("notes");
    assert!(message.contains("larger than 16 MiB"), "{message}");
    assert_eq!(message.matches("this is not a file").count(), 2, "{message}");
}
