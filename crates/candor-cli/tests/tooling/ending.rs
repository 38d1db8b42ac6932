//! Exit codes.

use crate::Home;
use crate::process::output;

#[tokio::test]
async fn the_help_documents_every_exit_code() {
    let home = Home::new("codes");
    let help = output(&mut home.candor(&["--help"])).await;
    assert_eq!(help.status.code(), Some(0));
    let at = help.stdout.iter().position(|line| line == "Exit codes:").expect("a list of them");
    let codes: Vec<_> = help.stdout[at + 1..].iter().map(|line| &line[..5]).collect();
    assert_eq!(codes, ["  0  ", "  1  ", "  2  ", "  3  ", "  4  ", "  5  ", "  6  ", "  7  "]);
}

#[tokio::test]
async fn commands_that_were_there_before_end_as_before() {
    let home = Home::new("before");
    for (args, code) in [
        (&["token", "ann"][..], 0),
        (&["token", "two words"], 1),
        (&["files", "nowhere"], 1),
        (&["history", "--ledger", "nowhere.db"], 1),
        (&["files"], 2),
        (&["nonsense"], 2),
        (&[], 2),
    ] {
        let ended = output(&mut home.candor(args)).await;
        assert_eq!(ended.status.code(), Some(code), "{args:?}: {:?}", ended.stderr);
    }
}
