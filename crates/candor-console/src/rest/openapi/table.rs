//! Every operation of the API, one row each. What can be derived is not here: who may ask comes from the guard, the schemas of
//! tools from the tools.

/// A row.
pub(super) struct Operation {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) tag: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Option<Shape>,
    pub(super) answers: &'static [Answer],
}

/// A shape by its name among the schemas.
pub(super) type Shape = &'static str;

pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// Where it stands: `path`, `query`, `header`.
    pub(super) place: &'static str,
    pub(super) words: &'static str,
    pub(super) required: bool,
    /// The JSON type of its value.
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Text,
    /// A text that cannot be empty.
    Name,
    /// A number between these.
    Number(u64, u64),
}

#[derive(Clone, Copy)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) words: &'static str,
    pub(super) content: Content,
}

#[derive(Clone, Copy)]
pub(super) enum Content {
    Nothing,
    Json(Shape),
    /// A problem, as `application/problem+json`.
    Problem,
    /// The one body that is as short as it has always been.
    NoSuchTool,
    /// The result, or events on the way to it.
    Result,
    Events,
    Export,
}

const fn at(name: &'static str, words: &'static str) -> Parameter {
    Parameter { name, place: "path", words, required: true, kind: Kind::Name }
}

const fn query(name: &'static str, words: &'static str, required: bool) -> Parameter {
    Parameter { name, place: "query", words, required, kind: Kind::Text }
}

const fn problem(status: u16, words: &'static str) -> Answer {
    Answer { status, words, content: Content::Problem }
}

const fn json(shape: Shape, words: &'static str) -> Answer {
    Answer { status: 200, words, content: Content::Json(shape) }
}

const TOOL: Parameter = at("name", "The tool's name, percent-encoded once.");
const OPERATION: Parameter = at("id", "The operation's id, or as many first digits as are unique.");
const KEY: Parameter = Parameter {
    name: "Idempotency-Key",
    place: "header",
    words: "The operation's name: new for each operation, the same on every attempt.",
    required: false,
    kind: Kind::Text,
};
const CURSOR: Parameter = query("cursor", "Where the page begins, from the page before.", false);
const LIMIT: Parameter = Parameter {
    name: "limit",
    place: "query",
    words: "How many at most.",
    required: false,
    kind: Kind::Number(1, 1000),
};
const URI: Parameter = query("uri", "The resource.", true);

const UNCHANGED: Answer = Answer {
    status: 304,
    words: "Nothing has changed since the tag in If-None-Match.",
    content: Content::Nothing,
};
const NO_SUCH_TOOL: Answer =
    Answer { status: 404, words: "There is no such tool.", content: Content::NoSuchTool };
const NO_SUCH: Answer = problem(404, "There is nothing of this name.");
const BAD: Answer = problem(400, "The request cannot be read.");
const TOO_LARGE: Answer = problem(413, "The body is larger than the server takes.");
const NOT_JSON: Answer = problem(415, "The body is not announced as JSON.");

const ABOUT_A_CALL: &[Answer] = &[BAD, NO_SUCH_TOOL, TOO_LARGE, NOT_JSON];

/// What can become of a call that is not made.
macro_rules! called {
    ($not_found:expr) => {
        &[
            Answer {
                status: 200,
                words: "The tool's result, also if the tool failed (`isError`). With `Accept: text/event-stream`, events: \
                        `progress` on the way, then `result` or `problem`.",
                content: Content::Result,
            },
            BAD,
            $not_found,
            problem(403, "Calling is switched off, or a person has not approved it, or has denied it."),
            problem(409, "It runs already, or something must be done first: see `next_operation`."),
            problem(410, "It was done under this key, and its result is not kept."),
            TOO_LARGE,
            NOT_JSON,
            problem(422, "The arguments do not fit; `errors` says which. Or the key stands for another call."),
            problem(429, "Too often, for now."),
            problem(503, "It cannot be started just now. Nothing was done."),
            problem(504, "The tool did not end in time."),
        ]
    };
}

/// The rows. Those of tools are repeated for each tool, with its own schema.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "get",
        path: "/tools",
        id: "listTools",
        summary: "All tools, or a page of them; the next one is in the header Link.",
        tag: "tools",
        parameters: &[LIMIT, CURSOR],
        body: None,
        answers: &[json("ToolList", "The tools in their order."), UNCHANGED, BAD],
    },
    Operation {
        method: "get",
        path: "/tools/{name}",
        id: "getTool",
        summary: "A tool with its schemas.",
        tag: "tools",
        parameters: &[TOOL],
        body: None,
        answers: &[json("Tool", "The tool."), UNCHANGED, BAD, NO_SUCH_TOOL],
    },
    Operation {
        method: "post",
        path: "/tools/{name}/validate",
        id: "validateCall",
        summary: "Whether these arguments would be accepted. Nothing is run.",
        tag: "tools",
        parameters: &[TOOL, KEY],
        body: Some("Arguments"),
        answers: &[
            json("Validation", "Yes, or what is wrong."),
            ABOUT_A_CALL[0],
            ABOUT_A_CALL[1],
            ABOUT_A_CALL[2],
            ABOUT_A_CALL[3],
        ],
    },
    Operation {
        method: "post",
        path: "/tools/{name}/annotations",
        id: "foreseeCall",
        summary: "What a call with these arguments would do, and what would become of it. Nothing is run.",
        tag: "tools",
        parameters: &[TOOL, KEY, query("key", "The same as Idempotency-Key.", false)],
        body: Some("Arguments"),
        answers: &[
            json("Foresight", "What is known of it."),
            ABOUT_A_CALL[0],
            ABOUT_A_CALL[1],
            ABOUT_A_CALL[2],
            ABOUT_A_CALL[3],
        ],
    },
    Operation {
        method: "post",
        path: "/tools/{name}/preview",
        id: "previewCall",
        summary: "Calls the tool that shows what this call would do.",
        tag: "tools",
        parameters: &[TOOL],
        body: Some("Arguments"),
        answers: called!(problem(404, "There is no such tool, or it has no preview.")),
    },
    Operation {
        method: "post",
        path: "/tools/{name}/call",
        id: "callTool",
        summary: "Calls the tool.",
        tag: "tools",
        parameters: &[TOOL, KEY],
        body: Some("Arguments"),
        answers: called!(NO_SUCH_TOOL),
    },
    Operation {
        method: "get",
        path: "/resources",
        id: "listResources",
        summary: "The resources at the root, or directly beneath one.",
        tag: "resources",
        parameters: &[query("uri", "The resource whose children are meant.", false), CURSOR],
        body: None,
        answers: &[json("ResourceList", "A page of resources."), UNCHANGED, BAD, NO_SUCH],
    },
    Operation {
        method: "get",
        path: "/resources/metadata",
        id: "getResource",
        summary: "What a resource is, without its content.",
        tag: "resources",
        parameters: &[URI],
        body: None,
        answers: &[json("ResourceMetadata", "The resource."), UNCHANGED, BAD, NO_SUCH],
    },
    Operation {
        method: "get",
        path: "/resources/content",
        id: "readResource",
        summary: "The content of a resource.",
        tag: "resources",
        parameters: &[URI],
        body: None,
        answers: &[
            json("ResourceContent", "The content."),
            BAD,
            NO_SUCH,
            problem(422, "The resource cannot be read, and says why."),
        ],
    },
    Operation {
        method: "get",
        path: "/approvals",
        id: "listApprovals",
        summary: "The calls that wait for a person.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[json("Anything", "They."), BAD, NO_SUCH],
    },
    Operation {
        method: "get",
        path: "/approvals/events",
        id: "watchApprovals",
        summary: "News of calls that wait for a person, as long as somebody listens.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[Answer { status: 200, words: "Events.", content: Content::Events }, NO_SUCH],
    },
    Operation {
        method: "get",
        path: "/approvals/{id}",
        id: "getApproval",
        summary: "A call that waits for a person, with all that is known of it.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: None,
        answers: &[json("Anything", "The call."), BAD, NO_SUCH],
    },
    Operation {
        method: "post",
        path: "/approvals/{id}/approve",
        id: "approveCall",
        summary: "Says yes to a call.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: Some("Anything"),
        answers: DECIDED,
    },
    Operation {
        method: "post",
        path: "/approvals/{id}/deny",
        id: "denyCall",
        summary: "Says no to a call.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: Some("Anything"),
        answers: DECIDED,
    },
    Operation {
        method: "get",
        path: "/approvals/rules",
        id: "listRules",
        summary: "What was approved once and for all.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[json("Anything", "The rules."), BAD, NO_SUCH],
    },
    Operation {
        method: "delete",
        path: "/approvals/rules/{id}",
        id: "revokeRule",
        summary: "Takes such an approval back.",
        tag: "approvals",
        parameters: &[at("id", "The rule's id.")],
        body: None,
        answers: DECIDED,
    },
    Operation {
        method: "get",
        path: "/history",
        id: "listOperations",
        summary: "The calls that were made or wanted, the latest first.",
        tag: "history",
        parameters: &[],
        body: None,
        answers: &[json("Anything", "They."), BAD, NO_SUCH],
    },
    Operation {
        method: "get",
        path: "/history/export",
        id: "exportHistory",
        summary: "All of history, for programs.",
        tag: "history",
        parameters: &[],
        body: None,
        answers: &[
            Answer { status: 200, words: "History.", content: Content::Export },
            BAD,
            NO_SUCH,
        ],
    },
    Operation {
        method: "get",
        path: "/history/{id}",
        id: "getOperation",
        summary: "A call and what became of it.",
        tag: "history",
        parameters: &[OPERATION],
        body: None,
        answers: &[json("Anything", "The call."), BAD, NO_SUCH],
    },
    Operation {
        method: "post",
        path: "/history/{id}/resolve",
        id: "resolveOperation",
        summary: "Settles a call of which nobody knew what came of it.",
        tag: "history",
        parameters: &[OPERATION],
        body: Some("Anything"),
        answers: DECIDED,
    },
    Operation {
        method: "get",
        path: "/openapi.json",
        id: "describe",
        summary: "This document.",
        tag: "about",
        parameters: &[],
        body: None,
        answers: &[json("Anything", "An OpenAPI document."), UNCHANGED],
    },
];

const DECIDED: &[Answer] = &[
    json("Anything", "It was settled."),
    Answer { status: 204, words: "It was settled.", content: Content::Nothing },
    BAD,
    NO_SUCH,
    problem(409, "It is not as it was when it was shown; look again."),
    TOO_LARGE,
    NOT_JSON,
    problem(422, "What was sent does not fit."),
];
