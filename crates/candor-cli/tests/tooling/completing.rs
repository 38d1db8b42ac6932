//! `candor completions SHELL`.

use crate::Home;
use crate::process::output;

#[tokio::test]
async fn completion_script_of_every_shell_knows_the_commands() {
    let home = Home::new("completions");
    for (shell, mark) in
        [("bash", "complete -F"), ("zsh", "#compdef candor"), ("fish", "complete -c candor")]
    {
        let script = output(&mut home.candor(&["completions", shell])).await;
        assert_eq!(script.status.code(), Some(0), "{shell}");
        assert_eq!(script.stderr, [""; 0], "{shell}");
        let text = script.stdout.join("\n");
        assert!(text.contains(mark), "{shell}");
        for word in ["approvals", "completions", "config", "candor-path", "read-only"] {
            assert!(text.contains(word), "{shell} does not know {word}");
        }
    }
}

#[tokio::test]
async fn bash_completes_with_its_script() {
    let home = Home::new("bash");
    let script = output(&mut home.candor(&["completions", "bash"])).await.stdout.join("\n");
    let file = home.write("candor.bash", &script);
    let ask = r#"source "$1"; COMP_WORDS=(candor comp); COMP_CWORD=1; _candor candor comp candor; echo "${COMPREPLY[@]}""#;
    let answer = tokio::process::Command::new("bash")
        .args(["--norc", "-c", ask, "bash"])
        .arg(&file)
        .output()
        .await
        .expect("bash is installed where the checks run");
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "completions", "{answer:?}");
}

#[tokio::test]
async fn unknown_shell_is_refused_with_the_known_ones() {
    let home = Home::new("shells");
    let refused = output(&mut home.candor(&["completions", "tcsh"])).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        refused.stderr.join("\n").contains("[possible values: bash, zsh, fish]"),
        "{:?}",
        refused.stderr
    );
}
