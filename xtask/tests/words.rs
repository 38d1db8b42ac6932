//! The project's words: no banned phrase in a text that a person can meet, and no type name twice in a crate.
//!
//! `docs/glossary.md` has the words to write instead. Comments follow the same rules, and no test reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Each phrase with what to write. A phrase begins and ends at a word's border.
const BANNED: &[(&str, &str)] = &[
    ("whoever", "the caller, the operator, the reviewer, the user"),
    ("nobody", "no caller, no operator, no user"),
    ("somebody", "a caller, an operator, a user"),
    ("a person", "an operator, a reviewer, a user"),
    ("stands at", "is"),
    ("stands for", "means"),
    ("stand for", "mean"),
    ("stands beneath", "is inside"),
    ("stand beneath", "are inside"),
    ("stands before", "is in front of"),
    ("stands on", "applies to"),
    ("what came of", "the outcome of"),
    ("what becomes of", "the decision about"),
    ("how it stands", "the state"),
    ("let in", "accepted, allowed"),
    ("lets in", "accepts, allows"),
    ("let through", "allowed"),
    ("lets through", "allows"),
    ("taken back", "cancelled, revoked"),
    ("takes back", "cancels, revokes"),
    ("for a while", "until it expires"),
    ("mend", "fix"),
    ("does not fit", "is invalid"),
    ("do not fit", "are invalid"),
    ("these very arguments", "these arguments"),
    ("this very", "this"),
    ("the same, but", "say what differs"),
    ("nothing was done", "Nothing was run."),
    ("nothing was called", "Nothing was run."),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace")
}

/// The files below a folder, without tests.
fn files(at: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_test = name == "tests" || name == "tests.rs" || name.ends_with("_laws.rs");
        match path.is_dir() {
            _ if is_test || name == "target" => {}
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

fn below(folders: &[&str], ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    folders.iter().for_each(|folder| files(&root().join(folder), &mut found));
    found.retain(|path| path.extension().is_some_and(|end| end == ending));
    found.sort();
    found
}

fn crates() -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Tokens without test modules.
fn tokens(path: &Path) -> Vec<TokenTree> {
    let text = fs::read_to_string(path).unwrap();
    let stream: TokenStream =
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut kept = Vec::new();
    let mut skips = false;
    for token in stream {
        match &token {
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Bracket
                    && group.to_string().replace(' ', "") == "[cfg(test)]" =>
            {
                skips = true;
            }
            TokenTree::Group(group) if skips && group.delimiter() == Delimiter::Brace => {
                skips = false;
            }
            TokenTree::Punct(punct) if skips && punct.as_char() == ';' => skips = false,
            _ if skips => {}
            _ => kept.push(token),
        }
    }
    kept
}

/// Adds each text with its line. Comments become attributes `doc`, which clap prints in the help of a command.
fn texts(tokens: Vec<TokenTree>, with_docs: bool, found: &mut Vec<(usize, String)>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('"') {
                    found.push((literal.span().start().line, text));
                }
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_doc = matches!(inner.first(), Some(TokenTree::Ident(name)) if name == "doc");
                if with_docs || !is_doc {
                    texts(inner, with_docs, found);
                }
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

/// The banned phrases in a text, as the text is read: line ends in it are spaces.
fn banned(text: &str) -> Vec<&'static str> {
    let plain = text.replace("\\n", " ").to_lowercase();
    let words: Vec<&str> = plain.split(|c: char| !(c.is_alphanumeric() || c == '\'')).collect();
    let line = format!(
        " {} ",
        words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
    );
    let found = BANNED.iter().filter(|(phrase, _)| {
        let phrase = phrase.replace(',', "");
        line.contains(&format!(" {phrase} "))
    });
    found.map(|(phrase, _)| *phrase).collect()
}

/// Every text that a person can meet: where it is, and what it says.
fn all_texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |path: &Path, line: usize, text: String| {
        let path = path.strip_prefix(root()).unwrap().display();
        all.push((format!("{path}:{line}"), text));
    };
    for path in below(&["crates", "examples"], "rs") {
        let help = path.starts_with(root().join("crates/candor-cli/src"))
            || path.starts_with(root().join("crates/candor/src/run"));
        let mut found = Vec::new();
        texts(
            tokens(&path),
            help && path.file_name().is_some_and(|name| name == "args.rs"),
            &mut found,
        );
        found.into_iter().for_each(|(line, text)| add(&path, line, text));
    }
    let mut pages = below(&["docs"], "md");
    pages.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)));
    pages.extend(below(&["crates/candor-console/assets"], "js"));
    pages.extend(below(&["crates/candor-cli/templates"], "md"));
    for path in pages {
        for (at, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let is_comment = ["//", "*", "/*"].iter().any(|start| line.trim().starts_with(start));
            if !(is_comment && path.extension().is_some_and(|end| end == "js")) {
                add(&path, at + 1, line.to_owned());
            }
        }
    }
    all
}

#[test]
fn no_text_has_a_banned_phrase() {
    let all = all_texts();
    assert!(all.len() > 5000, "only {} texts were found", all.len());
    let wrong: Vec<String> = all
        .iter()
        .flat_map(|(place, text)| {
            banned(text).into_iter().map(move |phrase| format!("{place}: {phrase:?} in {text}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} texts:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn only_whole_banned_phrases_are_found() {
    assert_eq!(banned("Nobody is asked"), ["nobody"]);
    assert_eq!(banned("the call is\n   taken back"), ["taken back"]);
    assert_eq!(banned("It was run; nothing was done."), ["nothing was done"]);
    assert!(banned("amend the standing order of recommended inlets").is_empty());
}

/// The types that a file declares, outside functions and implementations.
fn types(tokens: Vec<TokenTree>, found: &mut Vec<String>) {
    let mut before: Vec<String> = Vec::new();
    for token in tokens {
        if let (TokenTree::Ident(name), Some(keyword)) = (&token, before.last())
            && ["struct", "enum", "trait", "union", "type"].contains(&keyword.as_str())
        {
            found.push(name.to_string());
        }
        match token {
            TokenTree::Ident(ident) => before.push(ident.to_string()),
            TokenTree::Group(group) => {
                let of_module = before.len() >= 2 && before[before.len() - 2] == "mod";
                if of_module && group.delimiter() == Delimiter::Brace {
                    types(group.stream().into_iter().collect(), found);
                }
                before.clear();
            }
            _ => before.clear(),
        }
    }
}

#[test]
fn no_crate_declares_a_type_name_twice() {
    let mut twice = Vec::new();
    let mut seen = 0;
    for folder in crates() {
        let name = folder.strip_prefix(root()).unwrap().display().to_string();
        let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in below(&[&format!("{name}/src")], "rs") {
            let mut found = Vec::new();
            types(tokens(&path), &mut found);
            // A file may declare a type twice under conditions that exclude each other.
            found.sort();
            found.dedup();
            for name in found {
                let place = path.strip_prefix(root()).unwrap().display().to_string();
                declared.entry(name).or_default().push(place);
            }
        }
        seen += declared.len();
        twice.extend(declared.into_iter().filter(|(_, places)| places.len() > 1));
    }
    assert!(seen > 800, "only {seen} types were found");
    assert!(twice.is_empty(), "{twice:#?}");
}
