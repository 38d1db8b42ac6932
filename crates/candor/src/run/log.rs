//! Logs to stderr, because stdout may belong to the protocol.

use std::fmt;
use std::io::IsTerminal as _;

use candor_protocol::shown::shown;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{self, FormatFields, Writer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt as lines};

use super::LogFormat;

/// Sets up the log. A log that is already set up stays.
pub(super) fn to_stderr(format: LogFormat) {
    let wanted = std::env::var("RUST_LOG").unwrap_or_default();
    let read = if wanted.contains('[') {
        Err("spans and fields cannot be chosen by it".to_owned())
    } else {
        wanted.parse::<Targets>().map_err(|problem| problem.to_string())
    };
    let (filter, problem) = match read {
        Ok(filter) if !wanted.is_empty() => (filter, None),
        Ok(_) => (warnings(), None),
        Err(problem) => (warnings(), Some(problem)),
    };
    let log = lines::layer().with_writer(std::io::stderr);
    let log = match format {
        LogFormat::Text => {
            log.with_ansi(std::io::stderr().is_terminal()).fmt_fields(fields()).boxed()
        }
        LogFormat::Json => log.json().with_current_span(true).with_span_list(false).boxed(),
    };
    let _ = tracing_subscriber::registry().with(log.with_filter(filter)).try_init();
    if let Some(problem) = problem {
        tracing::warn!(
            problem,
            "RUST_LOG is not understood; write it like info or candor_server=debug,warn"
        );
    }
}

fn warnings() -> Targets {
    Targets::new().with_default(LevelFilter::WARN)
}

/// Formats the fields of an event on one line. Errors may contain text from callers and tools. Escapes keep that text from forging
/// log lines, and from moving the cursor of a terminal.
fn fields() -> impl for<'writer> FormatFields<'writer> + Send + Sync + 'static {
    format::debug_fn(|out: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug| {
        let value = format!("{value:?}");
        match (field.name(), out.has_ansi_escapes()) {
            ("message", _) => write!(out, "{}", shown(&value)),
            (name, false) => write!(out, "{name}={}", shown(&value)),
            (name, true) => write!(out, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m{}", shown(&value)),
        }
    })
    .delimited(" ")
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn log_event_is_always_one_line() {
        let written = Written::default();
        let writer = written.clone();
        let log = lines::layer()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .fmt_fields(fields());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(log), || {
            let forged = "gone\n2026 WARN all is well \u{1b}[2J\u{202e}";
            tracing::warn!(uri = forged, error = %forged, number = 7, "it failed");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(text.contains("it failed uri=\"gone\\n2026"), "{text}");
        assert!(text.contains(r"error=gone\n2026 WARN") && text.contains("number=7"), "{text}");
    }
}
