//! Handles a host that forgot `--stdio`: its JSON-RPC arrives on stdin, but the server speaks HTTP.

use std::io::{BufRead, IsTerminal, Read, Write};

use candor_server::protocol::rpc::{ErrorObject, Incoming, RequestId, decode_message, write_error};

/// Maximum bytes of a message: enough for any first message of a host.
const MOST: u64 = 64 * 1024;

/// Reads piped stdin on a separate thread, and answers JSON-RPC there with an error that says what to do.
pub(super) fn watch_stdin() {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return;
    }
    std::thread::spawn(move || {
        let mut stdin = stdin.lock();
        let mut told = false;
        // Answer every message: a client that is refused in one era tries the other, and would wait forever.
        while let Some(id) = next_message(&mut stdin) {
            let advice = "This server was started for HTTP; to speak over stdin and stdout, start it with --stdio";
            let mut answer = write_error(id.as_ref(), &ErrorObject::invalid_request(advice));
            answer.push(b'\n');
            let written = std::io::stdout().write_all(&answer);
            if written.and_then(|()| std::io::stdout().flush()).is_err() {
                return;
            }
            if !std::mem::replace(&mut told, true) {
                eprintln!("JSON-RPC arrived on stdin: add --stdio");
            }
        }
    });
}

/// Returns the id of the next message, if it has one. Returns `None` if the input is not a message, or ends.
fn next_message(stdin: &mut impl BufRead) -> Option<Option<RequestId>> {
    let mut line = Vec::new();
    stdin.take(MOST).read_until(b'\n', &mut line).ok()?;
    match decode_message(&line, 64) {
        Ok(Incoming::Request(request)) => Some(Some(request.id)),
        Ok(Incoming::Notification(_)) => Some(None),
        _ => None,
    }
}
