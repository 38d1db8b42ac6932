//! Where the example servers are.

use tokio::process::Command;

/// An example server; `cargo test` builds it next to the tests.
pub(crate) fn example(name: &str) -> Command {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(|deps| deps.parent()).unwrap();
    let program = built.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "build it with `cargo build -p candor --examples`: {program:?}");
    let mut command = Command::new(program);
    // Not among the calls of whoever runs the tests.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command
}
