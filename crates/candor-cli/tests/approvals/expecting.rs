//! A destructive call from the command line never runs unconfirmed, whatever an operator grants meanwhile: real processes, no terminal.

use std::process::{Output, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot};

use crate::process::Program;
use crate::served::Served;

/// `candor files` over HTTP, and `candor` without a terminal.
struct Site {
    served: Served,
    address: String,
    _program: Program,
}

impl Site {
    async fn new(name: &str, flags: &[&str]) -> Self {
        let served = Served::new(name);
        let flags = [&["--http", "127.0.0.1:0", "--hold", "1s"], flags].concat();
        let mut program = Program::start(&mut served.command(&flags));
        let address = program.listening().await;
        Self { served, address, _program: program }
    }

    /// Deletes a note, or explains that, through an address: the tool as a whole, or the split tool whose effect is fixed.
    async fn candor(
        &self,
        address: &str,
        verb: &str,
        tool: &str,
        path: &str,
        more: &[&str],
    ) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.args([verb, &format!("http://{address}/mcp"), tool, &format!("path={path}")]);
        if tool == "manage_files" {
            command.arg("action=delete");
        }
        command.args(more).arg("--json").stdin(Stdio::null()).kill_on_drop(true);
        command
            .env("HOME", self.served.beside("home"))
            .env("XDG_STATE_HOME", self.served.beside("state"));
        crate::process::bounded("the command ends", command.output()).await.unwrap()
    }

    async fn call(&self, tool: &str, path: &str, more: &[&str]) -> Output {
        self.candor(&self.address, "call", tool, path, more).await
    }

    async fn next(&self, tool: &str, path: &str) -> String {
        let explained = self.candor(&self.address, "explain", tool, path, &[]).await;
        let explained: serde_json::Value = serde_json::from_slice(&explained.stdout).unwrap();
        explained["result"]["next"].as_str().unwrap().to_owned()
    }
}

/// Sits between client and server, and holds each `tools/call` until the test releases it.
async fn proxy(server: String) -> (String, mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
    let (held, holding) = mpsc::unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&server).await.unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
            let held = held.clone();
            tokio::spawn(async move {
                let mut bytes = vec![0; 64 * 1024];
                while let Ok(length @ 1..) = from_client.read(&mut bytes).await {
                    // The method is a header of every modern request.
                    let text = String::from_utf8_lossy(&bytes[..length]).to_lowercase();
                    if text.contains("mcp-method: tools/call") {
                        let (go_on, gone_on) = oneshot::channel();
                        held.send(go_on).unwrap();
                        gone_on.await.unwrap();
                    }
                    to_server.write_all(&bytes[..length]).await.unwrap();
                }
            });
        }
    });
    (address, holding)
}

fn ended(output: &Output, code: i32) -> String {
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    format!("{out}{err}")
}

const TOOLS: [(&str, &[&str]); 2] = [("manage_files", &[]), ("manage_files_delete", &["--split"])];

#[tokio::test]
async fn grant_before_the_call_makes_the_command_line_ask() {
    for (tool, flags) in TOOLS {
        let site = Site::new(&format!("expecting, before {tool}"), flags).await;
        assert_eq!(site.next(tool, "notes/b.txt").await, "ask");
        let waits = ended(&site.call(tool, "notes/a.txt", &[]).await, 3);
        assert!(waits.contains("approval_required"), "{waits}");
        site.served.decide(&["approve", "--for", "15m", "--under", "path=notes"], "notes").await;
        // The approval covers the first call, and the grant covers the others.
        assert_eq!(site.next(tool, "notes/b.txt").await, "confirm");
        let refused = ended(&site.call(tool, "notes/b.txt", &[]).await, 3);
        assert!(site.served.has("notes/b.txt"), "{refused}");
        ended(&site.call(tool, "notes/b.txt", &["--yes"]).await, 0);
        assert!(!site.served.has("notes/b.txt"));

        let grants = crate::ledger::told(&mut site.served.approvals(&["grants", "--json"])).json();
        let id = grants["id"].as_str().unwrap();
        crate::ledger::told(&mut site.served.approvals(&["revoke", id]));
        site.served.write("notes/b.txt", "again");
        assert_eq!(site.next(tool, "notes/b.txt").await, "ask");
        ended(&site.call(tool, "notes/b.txt", &["--yes"]).await, 3);
        assert!(site.served.has("notes/b.txt"), "--yes does not answer the server");
    }
}

#[tokio::test]
async fn grant_between_evaluation_and_call_makes_the_command_line_ask() {
    for (tool, flags) in TOOLS {
        let site = Site::new(&format!("expecting, between {tool}"), flags).await;
        ended(&site.call(tool, "notes/a.txt", &[]).await, 3);
        let served = &site.served;
        let (address, mut calls) = proxy(site.address.clone()).await;
        let granting = async {
            let call = calls.recv().await.unwrap();
            let words = ["approve", "--for", "15m", "--under", "path=notes"];
            served.decide(&words, "notes").await;
            call.send(()).unwrap();
            // The preview for the confirmation is a call, too.
            while let Some(call) = calls.recv().await {
                call.send(()).unwrap();
            }
        };
        let refused = tokio::select! {
            refused = site.candor(&address, "call", tool, "notes/b.txt", &[]) => ended(&refused, 3),
            () = granting => unreachable!(),
        };
        assert!(refused.contains("no longer asks for approval"), "{refused}");
        assert!(site.served.has("notes/b.txt"), "{refused}");
    }
}
