//! Command lines, read by a command that has words of its own.

use std::path::PathBuf;

use clap::Parser;

use candor_client::Trust;

use super::{CommandWords, TargetArg, TargetArgs, split};
use crate::exit::Exit;
use crate::targets::{CliEnvironment, Origin, ResolvedTarget};
use candor_client::config::Target;

/// A command like `candor call`.
#[derive(Debug, Parser)]
struct Call {
    words: Vec<String>,
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: TargetArgs,
}

fn call(line: &str) -> Call {
    Call::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{error}"))
}

fn here(set: &[(&str, &str)]) -> CliEnvironment {
    CliEnvironment::of_test(PathBuf::from("/nowhere"), PathBuf::from("/nobody"), set)
}

fn found(
    line: &str,
    set: &[(&str, &str)],
) -> Result<(ResolvedTarget, Vec<String>), (Exit, String)> {
    let call = call(line);
    let found = call.target.find(call.words, CommandWords::Names, &here(set));
    found
        .map(|(sought, rest)| (sought.found, rest))
        .map_err(|failure| (failure.exit, failure.to_string()))
}

fn headers(line: &str, set: &[(&str, &str)]) -> Vec<String> {
    match found(line, set).unwrap().0.target {
        Target::Url { headers, .. } => headers.iter().map(|(k, v)| format!("{k}: {v}")).collect(),
        other @ Target::Program { .. } => panic!("{other:?}"),
    }
}

#[test]
fn flags_are_accepted_at_any_position() {
    for line in [
        "call :7332 tool k=v --json",
        "call --json :7332 tool k=v",
        "call :7332 --json tool k=v",
        "call --timeout 5s :7332 --json --header X:y tool --trust hints k=v",
    ] {
        assert!(call(line).json, "{line}");
        let (found, rest) = found(line, &[]).unwrap();
        assert_eq!(found.to_string(), "http://127.0.0.1:7332/mcp", "{line}");
        assert_eq!(rest, ["tool", "k=v"], "{line}");
    }
}

#[test]
fn words_after_two_dashes_are_the_program() {
    for line in
        ["call --json tool k=v -- prog -v --json :1", "call tool k=v --json -- prog -v --json :1"]
    {
        assert!(call(line).json, "{line}");
        let (found, rest) = found(line, &[]).unwrap();
        let Target::Program { program, args, .. } = found.target else { panic!("{line}") };
        assert_eq!((program.as_str(), rest), ("prog", vec!["tool".to_owned(), "k=v".to_owned()]));
        assert_eq!(args, ["-v", "--json", ":1"], "words after the dashes belong to the program");
    }
    assert!(!call("call tool -- prog --json").json);
}

#[test]
fn target_must_be_exactly_one_server() {
    for (line, problem) in [
        ("call", "which server?"),
        ("call :7332 tool -- prog", "two servers: :7332"),
        ("call http://a tool -- prog", "two servers"),
        ("call http://ann:pw@a tool -- prog", "two servers"),
        ("call tool :7332 k=v", "the server comes first: :7332 before tool"),
    ] {
        let (exit, message) = found(line, &[]).unwrap_err();
        assert_eq!(exit, Exit::Usage, "{line}");
        assert!(message.contains(problem), "{line}: {message}");
    }
    let words = || vec!["notes".to_owned(), "tool".to_owned()];
    let nothing = split(words(), CommandWords::Names, Vec::new(), true).unwrap_err();
    assert!(nothing.to_string().contains("no program follows --"), "{nothing}");
    let (meant, rest) = split(words(), CommandWords::Names, Vec::new(), false).unwrap();
    assert_eq!((meant, rest), (TargetArg::Word("notes".to_owned()), vec!["tool".to_owned()]));
    assert!(
        split(words(), CommandWords::Names, vec![String::new()], false).is_err(),
        "the program is empty, as from an unset variable"
    );
}

#[test]
fn bearer_token_comes_from_a_file_or_a_variable() {
    let file = std::env::temp_dir().join(format!("candor-bearer-{}", std::process::id()));
    std::fs::write(&file, "s3cret\n").unwrap();
    let flag = format!("--bearer-file {}", file.display());
    let set = [("CANDOR_BEARER", "fr0m-variable"), ("KEY", "k3y")];
    assert_eq!(headers(&format!("call :1 {flag}"), &set), ["Authorization: Bearer s3cret"]);
    assert_eq!(headers("call :1", &set), ["Authorization: Bearer fr0m-variable"]);
    assert_eq!(headers("call :1", &[("CANDOR_BEARER", "")]), [""; 0]);
    assert_eq!(
        headers("call :1 --header X-Key:${KEY} --header authorization:mine", &set),
        ["X-Key: k3y", "authorization: mine"],
        "a flag wins over the variable"
    );
    for (line, exit, problem) in [
        (format!("call :1 {flag} --header Authorization:x"), Exit::Usage, "contradict"),
        (format!("call t {flag} -- prog"), Exit::Usage, "for servers with a URL"),
        ("call :1 --header X:${NOPE}".to_owned(), Exit::Usage, "NOPE is not set"),
    ] {
        let (found, message) = found(&line, &set).map(|_| ()).unwrap_err();
        assert_eq!(found, exit, "{line}");
        assert!(message.contains(problem), "{line}: {message}");
    }
    std::fs::write(&file, "two\nlines").unwrap();
    let (_, message) = found(&format!("call :1 {flag}"), &[]).map(|_| ()).unwrap_err();
    assert!(message.contains("one line") && !message.contains("two"), "{message}");
    std::fs::remove_file(&file).unwrap();
    let (found, _) = found("call t -- prog", &set).unwrap();
    assert!(matches!(found.target, Target::Program { env, .. } if env.is_empty()));
}

#[test]
fn bearer_token_over_plain_http_gives_a_warning() {
    let set = [("CANDOR_BEARER", "s3cret")];
    let (remote, _) = found("call http://example.com", &set).unwrap();
    assert!(remote.notes[0].contains("not encrypted"), "{:?}", remote.notes);
    assert!(!format!("{remote:?}").contains("s3cret"));
    assert!(found("call https://example.com", &set).unwrap().0.notes.is_empty());
    assert!(found("call :1", &set).unwrap().0.notes.is_empty());
    let flags = call("call :1 --header X:s3cret");
    assert!(!format!("{flags:?}").contains("s3cret"));
}

#[test]
fn invalid_headers_are_refused() {
    for header in ["x", ":x", "a b:c", "a:b\nc", ""] {
        let line = ["call", ":1", "--header", header];
        assert!(Call::try_parse_from(line).is_err(), "{header:?}");
    }
}

#[test]
fn server_name_is_resolved_from_a_config_file() {
    let folder = std::env::temp_dir().join(format!("candor-reach-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(".mcp.json");
    std::fs::write(&file, r#"{"mcpServers": {"notes": {"command": "serve", "args": ["${AT}"]}}}"#)
        .unwrap();
    let here = CliEnvironment::of_test(folder.clone(), PathBuf::from("/nobody"), &[("AT", "a b")]);
    let call = call("call notes tool --json k=v");
    let (sought, rest) = call.target.find(call.words, CommandWords::Names, &here).unwrap();
    let found = sought.found;
    assert!(matches!(&found.target, Target::Program { args, .. } if *args == ["a b"]));
    assert_eq!(found.to_string(), "serve '${AT}'", "variables stay as written");
    assert_eq!(
        found.origin,
        Origin::File {
            path: file.clone(),
            name: "notes".to_owned(),
            owner: candor_client::config::Owner::Project
        }
    );
    assert_eq!(found.origin.to_string(), format!("notes in {}", file.display()));
    assert_eq!(rest, ["tool", "k=v"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn bearer_variable_is_not_sent_to_a_server_from_a_file() {
    let folder = std::env::temp_dir().join(format!("candor-headers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let server = r#"{"mcpServers": {"a": {"url": "https://a.example", "headers": {"authorization": "file", "X": "file"}},
        "theirs": {"url": "https://theirs.example"}}}"#;
    std::fs::write(folder.join(".mcp.json"), server).unwrap();
    let set = [("CANDOR_BEARER", "variable")];
    let here = CliEnvironment::of_test(folder.clone(), PathBuf::from("/nobody"), &set);
    let headers = |line: &str| {
        let call = call(line);
        match call.target.find(call.words, CommandWords::Names, &here).unwrap().0.found.target {
            Target::Url { headers, .. } => headers,
            other @ Target::Program { .. } => panic!("{other:?}"),
        }
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(headers("call a"), [pair("authorization", "file"), pair("X", "file")]);
    assert_eq!(headers("call theirs"), [], "the author of the file would get the token");
    assert_eq!(
        headers("call a --header Authorization:flag --header x:flag"),
        [pair("Authorization", "flag"), pair("x", "flag")]
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn resource_uri_is_not_a_second_server() {
    let line = "read http://a/x -- prog";
    let uris = |own| {
        let call = call(line);
        call.target.find(call.words, own, &here(&[])).map(|(_, rest)| rest)
    };
    assert_eq!(uris(CommandWords::Uris).unwrap(), ["http://a/x"]);
    assert!(uris(CommandWords::Names).unwrap_err().to_string().contains("two servers"));
}

#[test]
fn only_local_servers_are_trusted_by_default() {
    let trust = |line: &str| {
        let call = call(line);
        let (sought, _) =
            call.target.find(call.words.clone(), CommandWords::Names, &here(&[])).unwrap();
        call.target.trust(&sought.found)
    };
    for trusted in ["call :1", "call http://[::1]:1/x", "call http://localhost", "call -- prog"] {
        assert_eq!(trust(trusted), Trust::Trusted, "{trusted}");
    }
    for untrusted in
        ["call https://example.com", "call http://10.0.0.1", "call http://localhost.example"]
    {
        assert_eq!(trust(untrusted), Trust::Untrusted, "{untrusted}");
        assert_eq!(trust(&format!("{untrusted} --trust hints")), Trust::Trusted);
    }
    assert_eq!(trust("call --trust none -- prog"), Trust::Untrusted);
    assert_eq!(trust("call :1 --trust none"), Trust::Untrusted);
    // The former values, for one release.
    assert_eq!(trust("call :1 --trust stranger"), Trust::Untrusted);
    assert_eq!(trust("call https://example.com --trust known"), Trust::Trusted);
}
