//! The tours of README.md and docs/getting-started.md, and the commands that the demo prints: each runs as written.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;

use crate::{Demo, Machine};

/// A command and what it should say.
struct Step {
    command: String,
    says: Vec<String>,
}

/// The steps of a document's tour.
fn tour(document: &str) -> Vec<Step> {
    let (_, tour) = document.split_once("\n## A tour").expect("the document has a tour");
    let (tour, _) = tour.split_once("\n## ").expect("which is not its end");
    let blocks = tour.split("```console\n").skip(1).map(|block| block.split_once("```").unwrap().0);
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                // What stands behind a hash is for the reader.
                let command = command.split(" #").next().unwrap_or(command).trim();
                steps.push(Step { command: command.to_owned(), says: Vec::new() });
            }
            (None, Some(step)) => step.says.push(line.to_owned()),
            (None, None) => panic!("{line:?} comes before any command"),
        }
    }
    steps
}

/// Words as a shell would split them: nothing in the tour needs more than single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

/// What a command says, on both streams, and how it ends.
async fn run(machine: &Machine, command: &str) -> (String, Option<i32>) {
    let words = words(command);
    let [program, rest @ ..] = &words[..] else { panic!("an empty command") };
    assert_eq!(program, "candor", "{command}");
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    // One pipe for both, so that what is said stays in order.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut candor = machine.candor(&rest);
    candor.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = candor.kill_on_drop(true).spawn().unwrap();
    // Whoever keeps the other ends would wait for itself.
    drop(candor);
    let mut said = String::new();
    let mut reader = tokio::net::unix::pipe::Receiver::from_owned_fd(reader.into()).unwrap();
    let all = async {
        reader.read_to_string(&mut said).await.unwrap();
        child.wait().await.unwrap()
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), all).await.expect(command);
    (said, ended.code())
}

/// Whether what was said is what was promised: `…` stands for anything within a line, and alone for any lines.
fn fits(promised: &[String], said: &[&str]) -> bool {
    match promised {
        [] => said.is_empty(),
        [any, rest @ ..] if any == "…" => (0..=said.len()).any(|skip| fits(rest, &said[skip..])),
        [line, rest @ ..] => {
            said.first().is_some_and(|first| line_fits(line, first)) && fits(rest, &said[1..])
        }
    }
}

fn line_fits(promised: &str, said: &str) -> bool {
    match promised.split_once('…') {
        None => promised == said,
        Some((before, after)) => said.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| line_fits(after, &rest[at..]))
        }),
    }
}

#[tokio::test]
async fn tour_of_the_readme_runs_as_written() {
    replay("tour", include_str!("../../../../README.md")).await;
}

#[tokio::test]
async fn tour_of_getting_started_runs_as_written() {
    replay("started", include_str!("../../../../docs/getting-started.md")).await;
}

/// Runs a document's tour in a demo of its own and compares the output.
async fn replay(name: &str, document: &str) {
    let machine = Machine::new(name);
    let steps = tour(document);
    let [first, steps @ ..] = &steps[..] else { panic!("a tour without steps") };
    assert_eq!(first.command, "candor demo");
    let demo = Demo::start(&machine, &[]).await;
    let (port, usual) = (format!(":{}", demo.port()), ":7332");
    let mut said: Vec<String> = demo.said.iter().map(|line| line.replace(&port, usual)).collect();
    said.push(format!("listening on http://127.0.0.1{usual}"));
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    assert!(fits(&first.says, &said), "{:#?}\nis not\n{said:#?}", first.says);
    assert!(steps.len() > 5, "the tour has more to show");
    for step in steps {
        let (said, _) = run(&machine, &step.command.replace(usual, &port)).await;
        let said = said.replace(&port, usual);
        let said: Vec<&str> = said.lines().collect();
        assert!(fits(&step.says, &said), "$ {}\n{:#?}\nis not\n{said:#?}", step.command, step.says);
    }
    demo.end().await;
}

#[tokio::test]
async fn every_command_that_the_demo_suggests_works() {
    let machine = Machine::new("proposals");
    // No operator approves, so no call is held.
    let demo = Demo::start(&machine, &["--hold", "0"]).await;
    let proposed: Vec<&str> = demo
        .said
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.starts_with("candor "))
        .collect();
    let proposed: Vec<&&str> =
        proposed.iter().filter(|line| !line.starts_with("candor demo ·")).collect();
    assert!(proposed.len() > 6, "{proposed:?}");
    // The alias makes the commands work without an installation.
    let alias = format!("alias candor={}", env!("CARGO_BIN_EXE_candor"));
    assert!(demo.said.iter().any(|line| line.trim() == alias), "{:?}", demo.said);
    for command in proposed {
        let (said, code) = run(&machine, command).await;
        // The deletion needs approval: the demo shows this on purpose.
        let wanted =
            if command.contains("action=delete") && command.contains(" call ") { 3 } else { 0 };
        assert_eq!(code, Some(wanted), "{command}: {said}");
    }
    demo.end().await;
}

/// A shell parses an alias twice: when it is defined and when it is used.
#[tokio::test]
async fn alias_starts_the_program_from_any_path() {
    let machine = Machine::new("alias");
    let program = machine.at("my tools/Ann's/candor");
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    std::fs::hard_link(env!("CARGO_BIN_EXE_candor"), &program).unwrap();
    let demo = machine.demo(&["--http", "127.0.0.1:0"]);
    let mut elsewhere = tokio::process::Command::new(&program);
    elsewhere.args(demo.as_std().get_args()).current_dir(machine.at("cwd"));
    elsewhere.envs(demo.as_std().get_envs().filter_map(|(name, value)| Some((name, value?))));
    let demo = Demo::of(&machine, &mut elsewhere).await;
    let alias = format!("alias candor={}", demo.line("alias candor="));
    let script = format!("{alias}\ncandor --version");
    let shell = tokio::process::Command::new("sh").args(["-c", &script]).output().await.unwrap();
    let said = String::from_utf8_lossy(&shell.stdout);
    assert!(said.starts_with("candor "), "{alias}: {shell:?}");
    demo.end().await;
}

#[test]
fn tour_output_must_match_exactly() {
    let promised = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let fits = |text: &str, said: &str| fits(&promised(text), &said.lines().collect::<Vec<_>>());
    assert!(fits("a …c\n…\nend", "a bbc\n1\n2\nend") && fits("…", "") && fits("a…", "a"));
    assert!(
        !fits("a", "a\nb") && !fits("a\n…\nend", "a\nb") && !fits("a…c", "ab") && !fits("x", "")
    );
    assert_eq!(
        words("candor call :1 t --arguments '{\"a\": 1}'"),
        ["candor", "call", ":1", "t", "--arguments", "{\"a\": 1}"]
    );
}
