//! A host that forgot `--stdio`: its JSON-RPC arrives on stdin while the server speaks HTTP.

use std::io::{BufRead, IsTerminal, Read, Write};

use candor_server::protocol::rpc::{ErrorObject, Incoming, decode_message, write_error};

/// Enough for any first message of a host.
const MOST: u64 = 64 * 1024;

/// Looks at piped stdin, aside, and answers JSON-RPC there with an error that says what to do.
pub(super) fn watch_stdin() {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return;
    }
    std::thread::spawn(move || {
        let mut line = Vec::new();
        if stdin.lock().take(MOST).read_until(b'\n', &mut line).is_err() {
            return;
        }
        let id = match decode_message(&line, 64) {
            Ok(Incoming::Request(request)) => Some(request.id),
            Ok(Incoming::Notification(_)) => None,
            _ => return,
        };
        let advice = "This server was started for HTTP; to speak over stdin and stdout, start it with --stdio";
        let mut answer = write_error(id.as_ref(), &ErrorObject::invalid_request(advice));
        answer.push(b'\n');
        let _ = std::io::stdout().write_all(&answer);
        let _ = std::io::stdout().flush();
        eprintln!("JSON-RPC arrived on stdin: add --stdio");
    });
}
