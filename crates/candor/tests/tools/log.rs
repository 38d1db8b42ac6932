//! What a server logs, for tests of what only the log may say.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing_subscriber::fmt::MakeWriter;

/// The log of this thread, from now on.
pub(crate) struct Log {
    written: Written,
    _listening: DefaultGuard,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn listen() -> Self {
        // With a single subscriber, another thread that logs first would disable the line for all threads.
        let _ = tracing::subscriber::set_global_default(NoSubscriber::default());
        let written = Written::default();
        let subscriber =
            tracing_subscriber::fmt().with_writer(written.clone()).with_ansi(false).finish();
        Self { written, _listening: tracing::subscriber::set_default(subscriber) }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.written.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Written {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
