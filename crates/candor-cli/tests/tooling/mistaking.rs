//! Mistakes on the command line: each ends with 2 and a sentence that names what was given and what to write, before anything is done.

use serde_json::Value;

use crate::Home;
use crate::process::output;

/// What is wrong, as the program says it: nothing of it on stdout.
async fn mistaken(home: &Home, args: &[&str]) -> String {
    let ended = output(&mut home.candor(args)).await;
    let said = ended.stderr.join("\n");
    assert_eq!(ended.status.code(), Some(2), "{args:?}: {said}");
    assert!(said.starts_with("error: "), "{args:?}: {said}");
    assert_eq!(ended.stdout, [""; 0], "{args:?}");
    said
}

#[tokio::test]
async fn invalid_server_flag_value_names_the_valid_form() {
    let home = Home::new("values");
    for (flag, values, right) in [
        ("--http", &["nonsense", "", "99999", "example.com:80", "http://[::1]:80"][..], "IP:PORT"),
        ("--public-url", &["nonsense", "ftp://x"], "https://example.org"),
        ("--tokens", &["nonsense", "nonsense/x"], "there is no such file"),
        ("--tokens", &["."], "this is a folder"),
        ("--secret-file", &["nonsense"], "there is no such file"),
        ("--ledger", &["nonsense", "mysql://h/d", ""], "sqlite:PATH"),
        ("--ledger", &["sqlite:"], "sqlite:ledger.db"),
        ("--audit", &["nonsense"], "writes, all"),
        ("--ask", &["nonsense"], "destructive"),
        ("--deny", &["nonsense", "manage_files,nonsense"], "it has manage_files, "),
        ("--hold", &["nonsense", "1d"], "500ms"),
        ("--log-format", &["nonsense"], "text, json"),
        ("--deadline", &["nonsense", "0"], "500ms"),
        ("--peer-timeout", &["nonsense", "0s"], "500ms"),
        ("--session-idle", &["nonsense"], "500ms"),
        ("--drain", &["nonsense"], "500ms"),
        ("--max-message", &["nonsense", "0", "-1", "4M"], "from 1 to 1000000000"),
        ("--max-requests", &["nonsense", "0", "18446744073709551615"], "from 1 to 1000000000"),
        ("--max-streams", &["nonsense", "0"], "from 1 to 1000000000"),
        ("--max-connections", &["nonsense", "0"], "from 1 to 1000000000"),
        ("--max-sessions", &["nonsense", "0"], "from 1 to 1000000000"),
        ("--max-depth", &["nonsense", "0", "128", "-1"], "from 1 to 127"),
        ("--queue", &["nonsense", "0", "65536"], "from 1 to 65535"),
        ("--max-file", &["nonsense", "0", "-1"], "a number of bytes"),
    ] {
        for value in values {
            let said = mistaken(&home, &["files", ".", flag, value]).await;
            let wrong = value.rsplit(',').next().unwrap();
            assert!(said.contains(flag) && said.contains(wrong), "{flag} {value}: {said}");
            assert!(said.contains(right), "{flag} {value}: {said}");
        }
    }
    let said = mistaken(&home, &["files", ".", "--split=nonsense"]).await;
    assert!(said.contains("instead, beside"), "{said}");
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0, "nothing was created");
}

#[tokio::test]
async fn invalid_value_of_any_command_names_the_valid_form() {
    let home = Home::new("others");
    for (args, parts) in [
        (&["token", "a b"][..], &["'a b'", "no spaces", "ada"][..]),
        (&["token", "a\u{7}b"], &["no spaces"]),
        (&["token", "operator"], &["'operator'", "this name is reserved"]),
        (&["files", "nowhere"], &["nowhere: no such folder exists"]),
        (&["demo", "--http", "nonsense"], &["'nonsense'", "--http", "IP:PORT"]),
        (&["demo", "--ledger", "nonsense"], &["--ledger", "`nonsense`", "sqlite:PATH"]),
        (&["console", "--http", "nonsense"], &["'nonsense'", "--http", "IP:PORT"]),
        (&["console", "--ledger", "nonsense"], &["--ledger", "`nonsense`", "sqlite:PATH"]),
        (&["history", "--ledger", "none"], &["--ledger", "`none`", "sqlite:PATH"]),
        (&["approvals", "--ledger", "sqlite:"], &["--ledger", "sqlite:ledger.db"]),
        (&["history", "--limit", "x"], &["'x'", "--limit", "a whole number"]),
        (&["history", "--limit", "-1"], &["'-1'", "--limit", "a whole number"]),
        (&["history", "--since", "x"], &["'x'", "--since", "15m"]),
        (&["history", "--limit", "3", "show", "abcd"], &["candor history list --limit 3"]),
        (&["approvals", "approve", "abcd", "--by", " "], &["--by", "write the operator's name"]),
        (&["approvals", "approve", "abcd", "--for", "x"], &["'x'", "--for", "15m"]),
        (&["tools", ":1", "--bearer-file", "nowhere"], &["'nowhere'", "no such file"]),
        (&["tools", ":1", "--timeout", "x"], &["'x'", "--timeout", "30s"]),
        (&["tools", ":1", "--header", "x"], &["'x'", "--header", "NAME: VALUE"]),
        (&["tools", ":99999"], &[":99999", "65535"]),
        (&["resources", ":1", "--depth", "x"], &["'x'", "--depth", "a whole number"]),
        (&["read", ":1", "a:b", "--type", "text"], &["'text'", "--type", "text/plain"]),
        (&["config", "cursor", "--", "nowhere"], &["nowhere", "no such program"]),
        (&["new", "x", "--candor-path", "nowhere"], &["--candor-path nowhere"]),
        (&["call", ":1", "t", "--limit", "3"], &["'--limit'", "without dashes: limit=VALUE"]),
    ] {
        let said = mistaken(&home, args).await;
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[tokio::test]
async fn contradicting_flags_are_usage_errors() {
    let home = Home::new("contradictions");
    for (args, parts) in [
        (&["files", ".", "--stdio", "--http", "0"][..], &["cannot be used together"][..]),
        (&["files", ".", "--http", "0.0.0.0:0"], &["--http 0.0.0.0:0", "--tokens FILE"]),
        (
            &["files", ".", "--stdio", "--ledger", "none"],
            &["leave out --ledger none", "--ask never"],
        ),
    ] {
        let said = mistaken(&home, args).await;
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[tokio::test]
async fn usage_error_with_json_is_a_json_object() {
    let home = Home::new("objects of mistakes");
    for args in [
        &["history", "--json", "--limit", "x"][..],
        &["tools", "--json", "--timeout", "x", ":1"],
        &["approvals", "--ledger", "nonsense", "--json"],
        &["history", "--json", "--ledger", "postgres://ann:s3cret@h:port/d"],
    ] {
        let ended = output(&mut home.candor(args)).await;
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {:?}", ended.stderr);
        let told: Value = serde_json::from_str(&ended.stderr.join("\n")).unwrap();
        assert_eq!(told["error"]["code"], "usage", "{args:?}: {told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(!message.starts_with("error") && !message.contains("s3cret"), "{told}");
    }
    // After the dashes, `--json` belongs to the program.
    let ended = output(&mut home.candor(&["tools", "--timeout", "x", "--", "p", "--json"])).await;
    assert!(ended.stderr[0].starts_with("error: invalid value 'x'"), "{:?}", ended.stderr);
}

/// The words after two dashes are a program.
#[tokio::test]
async fn unknown_flag_error_does_not_suggest_two_dashes() {
    let home = Home::new("dashes");
    for args in [&["call", ":1", "t", "--limit", "3"][..], &["tools", ":1", "--limt"]] {
        let said = mistaken(&home, args).await;
        assert!(!said.contains("-- --"), "{said}");
    }
}

#[tokio::test]
async fn invalid_value_from_the_environment_names_its_variable() {
    let home = Home::new("variables");
    for (variable, value) in
        [("CANDOR_HTTP", "nonsense"), ("CANDOR_TOKENS", ""), ("CANDOR_MAX_DEPTH", "0")]
    {
        let ended = output(home.candor(&["files", "."]).env(variable, value)).await;
        let said = ended.stderr.join("\n");
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("the environment variable {variable} sets it")), "{said}");
    }
    let typed =
        output(home.candor(&["files", ".", "--http", "x"]).env("CANDOR_HTTP", "nonsense")).await;
    assert!(!typed.stderr.join("\n").contains("variable"), "{:?}", typed.stderr);
}
