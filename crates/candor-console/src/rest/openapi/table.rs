//! Every operation of the API, one row each. Derived facts are elsewhere: access comes from the guard, the responses without
//! capacity from `room`, and the schemas of tools from the tools.

use crate::rest::{history, tools};

/// One operation of the API.
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

/// The name of a body's schema.
pub(super) type Shape = &'static str;

#[derive(Clone, Copy)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    /// The location: `path`, `query` or `header`.
    pub(super) place: &'static str,
    pub(super) words: &'static str,
    pub(super) required: bool,
    /// The JSON type of its value.
    pub(super) kind: BodyKind,
}

#[derive(Clone, Copy)]
pub(super) enum BodyKind {
    Text,
    /// A text that cannot be empty.
    Name,
    /// A number in this range, both ends included.
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
    /// The short body of an unknown tool, which has only `error`.
    NoSuchTool,
    /// `NoSuchTool` or `Problem`.
    NoSuchToolOrProblem,
    /// The result, or a stream of events that ends with it.
    Result,
    Events,
    /// Lines of JSON.
    Lines,
}

const fn at(name: &'static str, words: &'static str) -> Parameter {
    Parameter { name, place: "path", words, required: true, kind: BodyKind::Name }
}

const fn query(name: &'static str, words: &'static str, required: bool) -> Parameter {
    Parameter { name, place: "query", words, required, kind: BodyKind::Text }
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
    kind: BodyKind::Text,
};
const EXPECT: Parameter = query(
    "expect",
    "`ask`: the server runs the call only with an approval. A `decisionId` of `annotations`: the server does what that decision says. \
     Otherwise it runs nothing and returns decision_changed. For a tool that cannot take an argument of this name, a member `expect` \
     of the body means the same.",
    false,
);
const CURSOR: Parameter = query("cursor", "Where the page begins, from the page before.", false);
const fn limit(most: usize) -> Parameter {
    Parameter {
        name: "limit",
        place: "query",
        words: "How many at most.",
        required: false,
        kind: BodyKind::Number(1, most as u64),
    }
}
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

const CONFLICT: Answer =
    problem(409, "The request or operation changed, or the id matches several. Read it again.");
const UNAVAILABLE: Answer = problem(503, "The ledger is unavailable.");

const FILTERS: &[Parameter] = &[
    query("tool", "Calls of this tool.", false),
    query("principal", "Calls of this caller.", false),
    query("key", "Calls with this key.", false),
    query(
        "state",
        "Operations in this state, such as succeeded, running or outcome_unknown; `completed` matches every outcome.",
        false,
    ),
    query("since", "Not before: a time, or how long ago (`2h`).", false),
    query("before", "Before a time, or how long ago.", false),
];

/// The responses to an operator's decision.
macro_rules! settled {
    ($shape:expr) => {
        &[
            json($shape, "It was recorded."),
            BAD,
            NO_SUCH,
            CONFLICT,
            TOO_LARGE,
            NOT_JSON,
            UNAVAILABLE,
        ]
    };
}

const ABOUT_A_CALL: &[Answer] = &[BAD, NO_SUCH_TOOL, TOO_LARGE, NOT_JSON];

/// The responses to a call.
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
            problem(403, "Calling is switched off, or the call needs approval, or it was denied."),
            problem(409, "The call runs already, or another call must come first: see `next_operation`."),
            problem(410, "The call ended under this key, and its result is not stored."),
            TOO_LARGE,
            NOT_JSON,
            problem(422, "The arguments are invalid, and `errors` names them. Or the key was used with different arguments."),
            problem(429, "The caller reached a rate limit or its limit of concurrent requests."),
            problem(503, "The server cannot start the call now. Nothing was run."),
            problem(504, "The tool did not end in time."),
        ]
    };
}

/// The operations. Those of tools repeat for each tool, with its own schema.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        method: "get",
        path: "/tools",
        id: "listTools",
        summary: "All tools, or a page of them; the next one is in the header Link.",
        tag: "tools",
        parameters: &[limit(tools::PAGE), CURSOR],
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
        id: "explainCall",
        summary: "Explains a call: its effect, and the decision on it. Nothing is run.",
        tag: "tools",
        parameters: &[TOOL, KEY, query("key", "The same as Idempotency-Key.", false)],
        body: Some("Arguments"),
        answers: &[
            json("Decision", "The effect of the call and the decision on it."),
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
        answers: called!(Answer {
            status: 404,
            words: "There is no such tool, or it has no preview.",
            content: Content::NoSuchToolOrProblem,
        }),
    },
    Operation {
        method: "post",
        path: "/tools/{name}/call",
        id: "callTool",
        summary: "Calls the tool.",
        tag: "tools",
        parameters: &[TOOL, KEY, EXPECT],
        body: Some("Arguments"),
        answers: called!(NO_SUCH_TOOL),
    },
    Operation {
        method: "get",
        path: "/resources",
        id: "listResources",
        summary: "Lists the resources at the root, or the children of one.",
        tag: "resources",
        parameters: &[query("uri", "The resource whose children to list.", false), CURSOR],
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
            problem(422, "The resource cannot be read, and `detail` has the reason."),
        ],
    },
    Operation {
        method: "get",
        path: "/resources/events",
        id: "watchResources",
        summary: "Sends the changes of resources while the connection is open. Repeat `uri` for more resources.",
        tag: "resources",
        parameters: &[URI],
        body: None,
        answers: &[
            Answer {
                status: 200,
                words: "Events: `watching`, `changed`, `list`; or `problem`.",
                content: Content::Events,
            },
            BAD,
            NO_SUCH,
        ],
    },
    Operation {
        method: "get",
        path: "/approvals",
        id: "listApprovals",
        summary: "Lists up to 200 approval requests, oldest first. Each caller has a fair share of the list.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[
            json(
                "ApprovalRequestList",
                "The requests; `X-Total-Count` has the number of all requests.",
            ),
            NO_SUCH,
            UNAVAILABLE,
        ],
    },
    Operation {
        method: "get",
        path: "/approvals/events",
        id: "watchApprovals",
        summary: "Sends the number of approval requests whenever it changes.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[
            Answer { status: 200, words: "Events: `waiting`.", content: Content::Events },
            NO_SUCH,
            UNAVAILABLE,
        ],
    },
    Operation {
        method: "get",
        path: "/approvals/{id}",
        id: "getApproval",
        summary: "Returns an approval request.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: None,
        answers: &[
            json("ApprovalRequest", "The approval request."),
            BAD,
            NO_SUCH,
            CONFLICT,
            UNAVAILABLE,
        ],
    },
    Operation {
        method: "post",
        path: "/approvals/{id}/approve",
        id: "approveCall",
        summary: "Approves a call, and optionally grants similar calls.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: Some("Approval"),
        answers: settled!("Review"),
    },
    Operation {
        method: "post",
        path: "/approvals/{id}/deny",
        id: "denyCall",
        summary: "Denies a call.",
        tag: "approvals",
        parameters: &[OPERATION],
        body: Some("Denial"),
        answers: settled!("Review"),
    },
    Operation {
        method: "get",
        path: "/approvals/grants",
        id: "listGrants",
        summary: "Lists active grants.",
        tag: "approvals",
        parameters: &[],
        body: None,
        answers: &[json("Grants", "The grants."), NO_SUCH, UNAVAILABLE],
    },
    Operation {
        method: "delete",
        path: "/approvals/grants/{id}",
        id: "revokeGrant",
        summary: "Revokes a grant.",
        tag: "approvals",
        parameters: &[at("id", "The grant's id.")],
        body: None,
        answers: &[json("Grant", "The grant as it is now."), BAD, NO_SUCH, UNAVAILABLE],
    },
    Operation {
        method: "get",
        path: "/history",
        id: "listOperations",
        summary: "Lists past operations, the latest first.",
        tag: "history",
        parameters: &[
            FILTERS[0],
            FILTERS[1],
            FILTERS[2],
            FILTERS[3],
            FILTERS[4],
            FILTERS[5],
            query("rows", "`true`: audit rows instead of operations.", false),
            limit(history::MOST),
            Parameter { kind: BodyKind::Number(0, 1 << 53), ..CURSOR },
        ],
        body: None,
        answers: &[json("Operations", "A page of them."), BAD, NO_SUCH, UNAVAILABLE],
    },
    Operation {
        method: "get",
        path: "/history/export",
        id: "exportHistory",
        summary: "Exports audit rows as lines of JSON, the earliest first.",
        tag: "history",
        parameters: FILTERS,
        body: None,
        answers: &[
            Answer { status: 200, words: "History.", content: Content::Lines },
            BAD,
            NO_SUCH,
            UNAVAILABLE,
        ],
    },
    Operation {
        method: "get",
        path: "/history/{id}",
        id: "getOperation",
        summary: "Returns an operation with its timeline and its result.",
        tag: "history",
        parameters: &[OPERATION],
        body: None,
        answers: &[json("Operation", "The operation."), BAD, NO_SUCH, CONFLICT, UNAVAILABLE],
    },
    Operation {
        method: "post",
        path: "/history/{id}/resolve",
        id: "resolveOperation",
        summary: "Resolves a call whose outcome is unknown.",
        tag: "history",
        parameters: &[OPERATION],
        body: Some("Resolution"),
        answers: settled!("Operation"),
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
