//! Names that cargo accepts for a crate, that a program can have on every system, and that no dependency has.

/// Words that cannot name a crate: Rust's keywords and crates, cargo's folders, dependencies of the crate, and devices.
const TAKEN: [(&str, &[&str]); 5] = [
    (
        "is a word of Rust",
        &[
            "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
            "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen",
            "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
            "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
            "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
            "yield",
        ],
    ),
    ("is a crate of Rust itself", &["alloc", "core", "proc_macro", "proc-macro", "std", "test"]),
    ("is a folder of cargo", &["build", "deps", "examples", "incremental"]),
    ("is what the new crate depends on", &["candor", "tokio"]),
    (
        "is a device on Windows",
        &[
            "aux", "con", "nul", "prn", "com1", "com2", "com3", "com4", "com5", "com6", "com7",
            "com8", "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
        ],
    ),
];

/// The maximum length that the registry accepts.
const LONGEST: usize = 64;

/// Returns an error if a crate cannot have this name: why, and what to write.
pub(super) fn check(name: &str) -> Result<(), String> {
    let given = crate::width::cut(name, 80);
    let refused = |why: &str| Err(format!("{given:?} cannot name a crate: {why}"));
    if name.contains(['/', '\\']) {
        return refused(
            "it is a path. Go to the folder where you want the crate, and give only its name",
        );
    }
    let wrong = name.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_'));
    if wrong.is_some() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return refused("write letters, digits, - and _, and begin with a letter: my-server");
    }
    if name.len() > LONGEST {
        return refused(&format!("it is longer than {LONGEST} letters"));
    }
    let lower = name.to_ascii_lowercase();
    match TAKEN.iter().find(|(_, words)| words.contains(&lower.as_str())) {
        Some((why, _)) => refused(&format!("it {why}. How about {lower}-server?")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn valid_crate_names_are_accepted() {
        for name in ["notes", "my-server", "my_server2", "A", &"a".repeat(64)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn invalid_crate_names_are_refused_with_a_reason() {
        for (name, reason) in [
            ("", "begin with a letter"),
            ("2fast", "begin with a letter"),
            ("-x", "begin with a letter"),
            ("_x", "begin with a letter"),
            ("nötes", "letters, digits"),
            ("a b", "letters, digits"),
            ("a\u{1b}[2J", r"\\u{1b}"),
            ("../notes", "it is a path"),
            ("fn", "a word of Rust"),
            ("Self", "a word of Rust"),
            ("test", "Rust itself"),
            ("deps", "folder of cargo"),
            ("tokio", "depends on"),
            ("NUL", "device"),
            (&"a".repeat(65), "longer than 64"),
        ] {
            let problem = check(name).unwrap_err();
            assert!(problem.contains(reason), "{name:?}: {problem}");
        }
    }
}
