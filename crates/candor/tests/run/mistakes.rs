//! Mistakes in the flags of `Server::run()`: 2, and what to write instead.

use crate::example;
use crate::process::output;

#[tokio::test]
async fn invalid_flag_is_a_usage_error() {
    for (flags, parts) in [
        (&["--http", "nonsense"][..], &["'nonsense'", "--http", "127.0.0.1:7332"][..]),
        (&["--http", "0.0.0.0:0"], &["--http 0.0.0.0:0", "--tokens FILE"]),
        (
            &["--http", "127.0.0.1:0", "--public-url", "https://tools.example/notes/"],
            &["--public-url https://tools.example/notes exposes", "--tokens FILE"],
        ),
        (
            &["--http", "127.0.0.1:0", "--public-url", "http://localhost.example"],
            &["--public-url http://localhost.example", "--tokens FILE"],
        ),
        (&["--max-requests", "0"], &["'0'", "--max-requests", "from 1 to"]),
        (&["--tokens", "/nonexistent/tokens"], &["--tokens", "no such file"]),
        (&["--ledger", "nonsense"], &["--ledger", "`nonsense`", "sqlite:PATH"]),
        (&["--deny", "great"], &["--deny great", "it has greet"]),
    ] {
        let ended = output(example("hello").args(flags)).await;
        let said = ended.stderr.join("\n");
        assert_eq!(ended.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.starts_with("error: "), "{flags:?}: {said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{flags:?}: {said}");
        assert_eq!(ended.stdout, [""; 0], "{flags:?}");
    }
}

/// The guide for operators lists every flag, and no other.
#[tokio::test]
async fn guide_lists_exactly_the_flags_of_the_help() {
    let guide = include_str!("../../../../docs/operate.md");
    let flag = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    // Rows of tables that begin with a flag. One flag is in two tables.
    let rows = guide.lines().filter_map(|line| line.strip_prefix("| `--"));
    let mut told: Vec<_> = rows.map(flag).collect();
    let ended = output(example("hello").arg("--help")).await;
    let lines = ended.stdout.iter().filter_map(|line| line.trim_start().strip_prefix("--"));
    let mut there: Vec<_> = lines.map(flag).collect();
    for flags in [&mut told, &mut there] {
        flags.sort();
        flags.dedup();
    }
    assert!(there.len() > 20, "{there:?}");
    assert_eq!(told, there);
}
