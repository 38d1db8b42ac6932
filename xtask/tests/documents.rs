//! Links within the documents lead somewhere, and what the documents name is there.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the workspace")
}

/// What a reader may open first, and what it leads to.
fn documents() -> Vec<PathBuf> {
    let folders = [root().to_owned(), root().join("docs"), root().join("clients")];
    let entries = folders.iter().flat_map(|at| fs::read_dir(at).unwrap());
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    found.sort();
    found
}

/// The lines that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

fn links(text: &str) -> Vec<&str> {
    let starts = prose(text).flat_map(|line| line.split("](").skip(1));
    starts.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link).collect()
}

/// How a heading is named in links: letters, digits, hyphens, and a hyphen for each space.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|heading| {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

#[test]
fn every_link_within_the_documents_resolves() {
    let mut followed = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: nothing is at {link}", document.display());
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).unwrap());
                let has = anchors.iter().any(|heading| heading == anchor);
                assert!(has, "{}: {link} is none of {anchors:?}", document.display());
            }
            followed += 1;
        }
    }
    assert!(followed > 30, "{followed} links are not all of them");
}

/// The sources and tests of the crates, as the architecture writes them: `engine/engine.rs`, `engine/tests/view.rs`.
fn sources() -> Vec<String> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for home in crates {
        let name = home.file_name().unwrap().to_str().unwrap().to_owned();
        let room = name.strip_prefix("candor-").unwrap_or(&name).to_owned();
        let mut folders = vec![home.join("src"), home.join("tests")];
        while let Some(folder) = folders.pop() {
            if !folder.exists() {
                continue;
            }
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let within = path.strip_prefix(home.join("src"));
                    let within = within.or_else(|_| path.strip_prefix(&home)).unwrap();
                    found.push(format!("/{room}/{}", within.to_str().unwrap()));
                }
            }
        }
    }
    found
}

#[test]
fn files_named_in_the_architecture_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let sources = sources();
    let named = prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
    let mut looked_at = 0;
    for name in named.filter(|name| name.ends_with(".rs") && !name.contains('{')) {
        let end = format!("/{name}");
        let exists = root().join(name).exists() || sources.iter().any(|path| path.ends_with(&end));
        assert!(exists, "ARCHITECTURE.md names {name}");
        looked_at += 1;
    }
    assert!(looked_at > 60, "{looked_at} files are not all of them");
}
