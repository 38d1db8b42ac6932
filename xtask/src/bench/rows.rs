//! The comparisons and their bars: those of the design, in its order.

/// One line of the table.
pub(super) struct Row {
    /// The name for `--only`.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) kind: Kind,
}

/// How a row is judged.
pub(super) enum Kind {
    /// Ours divided by theirs.
    Ratio { figure: Figure, ours: Side, theirs: Side, at_most: f64 },
    /// Ours alone.
    Below { figure: Figure, ours: Side, limit: f64 },
    /// Memory that does not grow with the number of calls.
    Flat { ours: Side, calls: u32 },
    /// Crates in the tree of the smallest server.
    Crates { at_most: f64 },
    /// CPU of its cold build.
    BuildCpu { at_most: f64 },
}

/// A server, and its work.
pub(super) struct Side {
    pub(super) label: &'static str,
    /// The first argument of `bench-load`.
    pub(super) asked: &'static str,
    /// The arguments of `bench-server`.
    pub(super) server: &'static [&'static str],
}

/// The figure that a run yields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// CPU of the server per call, over HTTP. In rows about clients, CPU of the client.
    CpuPerCall,
    /// Time per call, over stdio. There, most of the cost is to wake two processes.
    TimePerCall,
    /// Time from the start of the process to its first answer.
    FirstAnswer,
    /// Memory of an idle server.
    IdleMemory,
    /// Time to register many tools.
    Registering,
    /// Time to check the arguments of one call.
    Checking,
    /// Time to list a folder.
    Listing,
}

impl Figure {
    /// Returns the member of `bench-load`'s output that has the figure.
    pub(super) fn member(self) -> &'static str {
        match self {
            Self::CpuPerCall => "cpu_us",
            Self::TimePerCall | Self::Checking => "us",
            Self::FirstAnswer | Self::Registering | Self::Listing => "ms",
            Self::IdleMemory => "resident_mb",
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::CpuPerCall => "µs CPU",
            Self::TimePerCall | Self::Checking => "µs",
            Self::FirstAnswer | Self::Registering | Self::Listing => "ms",
            Self::IdleMemory => "MB",
        }
    }
}

impl Row {
    /// Returns true if the row takes minutes.
    pub(super) fn is_slow(&self) -> bool {
        matches!(self.kind, Kind::BuildCpu { .. })
    }
}

const fn side(label: &'static str, asked: &'static str, server: &'static [&'static str]) -> Side {
    Side { label, asked, server }
}

/// CPU per call: Candor with ten tools, against another server.
const fn call(asked: &'static str, theirs: Side, at_most: f64) -> Kind {
    let ours = side("candor", asked, &["candor", "10"]);
    Kind::Ratio { figure: Figure::CpuPerCall, ours, theirs, at_most }
}

pub(super) static ROWS: [Row; 28] = [
    Row {
        name: "call-axum",
        what: "modern tools/call, against a bare axum handler that parses to a Value and echoes",
        kind: call("modern", side("bare axum", "modern", &["bare-axum"]), 1.25),
    },
    Row {
        name: "call-rmcp-modern",
        what: "modern tools/call, against rmcp stateless JSON with a shared router",
        kind: call("modern", side("rmcp", "modern", &["rmcp"]), 0.5),
    },
    Row {
        name: "call-rmcp-legacy",
        what: "legacy tools/call answered with JSON: in a session, against rmcp without sessions",
        kind: call("session", side("rmcp", "legacy", &["rmcp"]), 0.5),
    },
    Row {
        name: "session-sse",
        what: "legacy session over SSE: one progress notification, then the answer, from both",
        kind: call("session-progress", side("rmcp", "session-progress", &["rmcp-session"]), 0.5),
    },
    Row {
        name: "session-plain",
        what: "legacy session, the answer alone: candor sends it as JSON, rmcp can only as SSE",
        kind: call("session", side("rmcp", "session", &["rmcp-session"]), 0.5),
    },
    Row {
        name: "progress-rmcp",
        what: "modern tools/call with one progress notification, as SSE from both",
        kind: call("modern-progress", side("rmcp", "modern-progress", &["rmcp"]), 0.5),
    },
    Row {
        name: "call-10000",
        what: "modern tools/call with 10,000 tools registered, against 10",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("10,000 tools", "modern", &["candor", "10000"]),
            theirs: side("10 tools", "modern", &["candor", "10"]),
            at_most: 1.2,
        },
    },
    Row {
        name: "rest-call",
        what: "a call over the REST API, against the same call over MCP",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("REST", "rest", &["candor-token", "10"]),
            theirs: side("MCP", "modern-token", &["candor-token", "10"]),
            at_most: 1.1,
        },
    },
    Row {
        name: "rest-tools",
        what: "GET /tools of 10,000 tools, against the same bytes from memory",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("candor", "tools", &["candor", "10000"]),
            theirs: side("bytes", "tools", &["bytes", "10000"]),
            at_most: 1.3,
        },
    },
    Row {
        name: "list-1000",
        what: "tools/list of 1,000 tools, against the same bytes from memory",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("candor", "list", &["candor", "1000"]),
            theirs: side("bytes", "list", &["bytes", "1000"]),
            at_most: 1.2,
        },
    },
    Row {
        name: "annotations",
        what: "modern tools/annotations from a table, against a no-op call",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("annotations", "annotations", &["candor", "10"]),
            theirs: side("call", "modern", &["candor", "10"]),
            at_most: 1.2,
        },
    },
    Row {
        name: "foresee",
        what: "evaluating a table of effects",
        kind: Kind::Below {
            figure: Figure::Checking,
            ours: side("candor", "foresee", &[]),
            limit: 1.0,
        },
    },
    Row {
        name: "ledger-64",
        what: "keyed calls through SQLite with full sync, 64 at once, against one transaction for each of three transitions",
        kind: Kind::Ratio {
            figure: Figure::Checking,
            ours: side("candor", "ledger", &[]),
            theirs: side("bare", "ledger-bare", &[]),
            at_most: 0.125,
        },
    },
    Row {
        name: "replay",
        what: "a repeated call, answered from a ledger in a file, against a no-op call without a ledger",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("replay", "replay", &["candor-ledger", "10"]),
            theirs: side("call", "modern", &["candor", "10"]),
            at_most: 2.0,
        },
    },
    Row {
        name: "read-ledger",
        what: "a call that only reads and has no key, with a ledger, against without",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("with ledger", "read", &["candor-ledger", "10"]),
            theirs: side("without", "read", &["candor", "10"]),
            at_most: 1.1,
        },
    },
    Row {
        name: "gate",
        what: "a call that only reads and has no key, with a ledger: asking before what destroys, against never asking",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("asking", "read", &["candor-gate", "10"]),
            theirs: side("never", "read", &["candor-ledger", "10"]),
            at_most: 1.1,
        },
    },
    Row {
        name: "client",
        what: "a whole client's modern tools/call, 16 at once, against rmcp's: CPU of the client",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("candor", "client-candor", &["candor", "10"]),
            theirs: side("rmcp", "client-rmcp", &["candor", "10"]),
            at_most: 0.5,
        },
    },
    Row {
        name: "client-legacy",
        what: "the same in a legacy session",
        kind: Kind::Ratio {
            figure: Figure::CpuPerCall,
            ours: side("candor", "client-candor-legacy", &["candor", "10"]),
            theirs: side("rmcp", "client-rmcp-legacy", &["candor", "10"]),
            at_most: 0.5,
        },
    },
    Row {
        name: "stdio",
        what: "stdio, one call after the other, against a bare tokio echo of lines",
        kind: Kind::Ratio {
            figure: Figure::TimePerCall,
            ours: side("candor", "stdio-sequential", &["candor-stdio", "10"]),
            theirs: side("bare tokio", "stdio-sequential", &["bare-stdio"]),
            at_most: 1.3,
        },
    },
    Row {
        name: "stdio-awake",
        what: "the same on a core that is kept awake: the work, without the waking",
        kind: Kind::Ratio {
            figure: Figure::TimePerCall,
            ours: side("candor", "stdio-awake", &["candor-stdio", "10"]),
            theirs: side("bare tokio", "stdio-awake", &["bare-stdio"]),
            at_most: 1.3,
        },
    },
    Row {
        name: "stdio-memory",
        what: "stdio, 20,000 calls with 200 under way at once: memory before, halfway, after",
        kind: Kind::Flat {
            ours: side("candor", "stdio-pipelined", &["candor-stdio", "10"]),
            calls: 20_000,
        },
    },
    Row {
        name: "start",
        what: "from the start of the process to its first answer, with 10 tools",
        kind: Kind::Below {
            figure: Figure::FirstAnswer,
            ours: side("candor", "start", &["candor", "10"]),
            limit: 50.0,
        },
    },
    Row {
        name: "idle-memory",
        what: "idle memory with 1,000 tools, their list written once",
        kind: Kind::Below {
            figure: Figure::IdleMemory,
            ours: side("candor", "idle", &["candor", "1000"]),
            limit: 25.0,
        },
    },
    Row {
        name: "register-1000",
        what: "deriving, compiling and registering 1,000 typed tools",
        kind: Kind::Below {
            figure: Figure::Registering,
            ours: side("candor", "register", &[]),
            limit: 100.0,
        },
    },
    Row {
        name: "check-five",
        what: "checking five arguments against their schema",
        kind: Kind::Below {
            figure: Figure::Checking,
            ours: side("candor", "check", &[]),
            limit: 2.0,
        },
    },
    Row {
        name: "list-folder",
        what: "resources/list of a folder of 10,000 files, all pages, against read_dir and metadata of the same",
        kind: Kind::Ratio {
            figure: Figure::Listing,
            ours: side("candor", "folder", &[]),
            theirs: side("read_dir", "folder-bare", &[]),
            at_most: 2.0,
        },
    },
    Row {
        name: "crates",
        what: "the ten-line server: crates in its tree, against the same on rmcp + axum",
        kind: Kind::Crates { at_most: 1.25 },
    },
    Row {
        name: "build-cpu",
        what: "the ten-line server: CPU of its cold release build, against the same on rmcp + axum",
        kind: Kind::BuildCpu { at_most: 1.25 },
    },
];
