//! Servers that a host starts with `--stdio`.

use serde_json::{Value, json};

use crate::example;
use crate::messages::{call, initialize, modern, request, text};
use crate::process::{Program, output};

#[tokio::test]
async fn hello_server_serves_a_host_from_start_to_exit() {
    let mut hello = Program::start(example("hello").arg("--stdio"));
    let opened = hello.ask(&initialize(1)).await;
    assert_eq!(opened["result"]["serverInfo"], json!({"name": "hello", "version": "1.0.0"}));
    let greet = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let legacy = hello.ask(&request(2, "tools/call", &greet)).await;
    assert_eq!(text(&legacy), "Hello, Ada!");
    let modern = hello.ask(&call(3, "greet", &json!({"name": "Grace"}))).await;
    assert_eq!(text(&modern), "Hello, Grace!");

    hello.close_stdin();
    let ended = hello.ended().await;
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(ended.stdout, [""; 0]);
    assert_eq!(ended.stderr, [""; 0], "nothing to complain about");
}

#[tokio::test]
async fn tool_list_is_byte_identical_after_a_restart() {
    let listed = async || {
        let mut schemas = Program::start(example("schemas").arg("--stdio"));
        for message in [
            initialize(1),
            request(2, "tools/list", &json!({})),
            modern(3, "tools/list", &json!({})),
        ] {
            schemas.write(&message.to_string()).await;
        }
        schemas.close_stdin();
        let mut lines = schemas.ended().await.stdout;
        lines.retain(|line| line.contains(r#""tools":[{"name":"answer","#));
        lines.sort_unstable();
        lines
    };
    let first = listed().await;
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(listed().await, first);
}

#[tokio::test]
async fn invalid_log_filter_is_reported_and_ignored() {
    for (filter, told) in [
        ("candor_server=nonsense", true),
        ("[span]=info", true),
        ("candor_server=debug,warn", false),
    ] {
        let mut everything =
            Program::start(example("everything").arg("--stdio").env("RUST_LOG", filter));
        everything.write(&initialize(1).to_string()).await;
        everything.close_stdin();
        let ended = everything.ended().await;
        assert_eq!(ended.status.code(), Some(0));
        let log = ended.stderr.join(
            "
",
        );
        assert_eq!(log.contains("RUST_LOG is not understood"), told, "{filter}: {log}");
    }
}

#[tokio::test]
async fn failure_has_a_trace_id_that_the_log_contains() {
    let mut everything =
        Program::start(example("everything").arg("--stdio").env("RUST_LOG", "info"));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let traced = json!({"name": "test_error_handling", "_meta": {"traceparent": parent}});
    let mut names = Vec::new();
    for message in [
        call(1, "test_error_handling", &json!({})),
        call(2, "test_error_handling", &json!({})),
        modern(3, "tools/call", &traced),
    ] {
        let answer = everything.ask(&message).await;
        let name = &answer["result"]["_meta"]["dev.candor/error"]["traceId"];
        names.push(name.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
    }
    assert_ne!(names[0], names[1], "each has its own");
    assert_eq!(names[2], "0af7651916cd43dd8448eb211c80319c", "the caller's, if it has one");
    everything.close_stdin();
    let log = everything.ended().await.stderr.join("\n");
    for name in names {
        assert!(log.lines().any(|line| line.contains(&name)), "{name} is not in\n{log}");
    }
}

#[tokio::test]
async fn stdout_carries_only_the_protocol_at_any_log_level() {
    let mut everything =
        Program::start(example("everything").arg("--stdio").env("RUST_LOG", "trace"));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}});
    let progress = json!({"name": "test_tool_with_progress", "_meta": {"progressToken": "t"}});
    let messages = [
        initialize(1),
        request(2, "tools/list", &json!({})),
        request(3, "tools/call", &json!({"name": "test_tool_with_logging"})),
        modern(4, "tools/call", &progress),
        call(5, "test_error_handling", &json!({})),
        call(6, "no such tool", &json!({})),
        modern(7, "resources/read", &json!({"uri": "test://static-binary"})),
        cancelled,
    ];
    for message in &messages {
        everything.write(&message.to_string()).await;
    }
    everything.write("garbage").await;
    everything.close_stdin();
    let ended = everything.ended().await;
    assert_eq!(ended.status.code(), Some(0));

    let mut answered = Vec::new();
    for line in &ended.stdout {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        assert!(message.is_object(), "{line}");
        answered.extend(message["id"].as_u64());
    }
    answered.sort_unstable();
    assert_eq!(answered, [1, 2, 3, 4, 5, 6, 7]);
    assert!(
        ended.stderr.iter().any(|line| line.contains("request cancelled")),
        "{:?}",
        ended.stderr
    );
}

/// Whatever the program prints goes to stderr: file descriptor 1 is the same pipe as 2, and the protocol's is another.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn output_of_a_tool_cannot_reach_the_protocol() {
    let mut hello = Program::start(example("hello").arg("--stdio"));
    hello.ask(&initialize(1)).await;
    let behind = |descriptor: &str| {
        std::fs::read_link(format!("/proc/{}/fd/{descriptor}", hello.id())).unwrap()
    };
    assert_eq!(behind("1"), behind("2"));
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", hello.id())).unwrap();
    let pipes = descriptors
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|descriptor| !["0", "1", "2"].contains(&descriptor.as_str()))
        .map(|descriptor| behind(&descriptor))
        .filter(|target| target.to_string_lossy().starts_with("pipe:") && *target != behind("2"));
    assert!(pipes.count() > 0, "the protocol has a pipe of its own");
}

#[tokio::test]
async fn server_ends_when_its_host_is_gone() {
    let mut everything = Program::start(example("everything").arg("--stdio"));
    everything.ask(&initialize(1)).await;
    let wait = call(2, "wait", &json!({"steps": 2}));
    everything.write(&wait.to_string()).await;
    everything.close_stdout().await;
    everything.close_stdin();
    assert_eq!(everything.ended().await.status.code(), Some(0));
}

#[tokio::test]
async fn server_ends_even_if_its_host_does_not_read() {
    let mut everything =
        Program::start(example("everything").args(["--stdio", "--drain", "100ms"]));
    everything.ask(&initialize(1)).await;
    everything.turn_deaf();
    // Each answer has several kilobytes, and a pipe holds 64.
    for id in 2..50 {
        everything.write(&request(id, "tools/list", &json!({})).to_string()).await;
    }
    everything.close_stdin();
    assert_eq!(everything.ended().await.status.code(), Some(0));
}

#[tokio::test]
async fn stdio_and_http_together_are_a_usage_error() {
    let ended = output(example("hello").args(["--stdio", "--http", "127.0.0.1:0"])).await;
    assert_eq!(ended.status.code(), Some(2));
    let complaint = ended.stderr.join("\n");
    assert!(complaint.contains("--stdio") && complaint.contains("--http"), "{complaint}");
    assert_eq!(ended.stdout, [""; 0]);
}
