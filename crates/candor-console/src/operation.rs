//! The description of a route in the OpenAPI document, and the parts that several descriptions have.

/// The description of a route. What follows from the route itself is added to its responses: access, body, ledger and slot.
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    pub(crate) body: Option<Shape>,
    pub(crate) answers: &'static [Answer],
}

/// The name of a body's schema.
pub(crate) type Shape = &'static str;

#[derive(Clone, Copy)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// The location: `path`, `query` or `header`.
    pub(crate) place: &'static str,
    pub(crate) words: &'static str,
    pub(crate) required: bool,
    /// The JSON type of its value.
    pub(crate) kind: BodyKind,
}

#[derive(Clone, Copy)]
pub(crate) enum BodyKind {
    Text,
    /// A text that cannot be empty.
    Name,
    /// A number in this range, both ends included.
    Number(u64, u64),
}

#[derive(Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) words: &'static str,
    pub(crate) content: Content,
}

#[derive(Clone, Copy)]
pub(crate) enum Content {
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

pub(crate) const fn at(name: &'static str, words: &'static str) -> Parameter {
    Parameter { name, place: "path", words, required: true, kind: BodyKind::Name }
}

pub(crate) const fn query(name: &'static str, words: &'static str, required: bool) -> Parameter {
    Parameter { name, place: "query", words, required, kind: BodyKind::Text }
}

pub(crate) const fn problem(status: u16, words: &'static str) -> Answer {
    Answer { status, words, content: Content::Problem }
}

pub(crate) const fn json(shape: Shape, words: &'static str) -> Answer {
    Answer { status: 200, words, content: Content::Json(shape) }
}

pub(crate) const TOOL: Parameter = at("name", "The tool's name, percent-encoded once.");
pub(crate) const OPERATION: Parameter =
    at("id", "The operation's id, or as many first digits as are unique.");
pub(crate) const KEY: Parameter = Parameter {
    name: "Idempotency-Key",
    place: "header",
    words: "The operation's name: new for each operation, the same on every attempt.",
    required: false,
    kind: BodyKind::Text,
};
pub(crate) const EXPECT: Parameter = query(
    "expect",
    "`ask`: the server runs the call only with an approval. A `decisionId` of `annotations`: the server does what that decision says. \
     Otherwise it runs nothing and returns decision_changed. For a tool that cannot take an argument of this name, a member `expect` \
     of the body means the same.",
    false,
);
pub(crate) const CURSOR: Parameter =
    query("cursor", "Where the page begins, from the page before.", false);
pub(crate) const fn limit(most: usize) -> Parameter {
    Parameter {
        name: "limit",
        place: "query",
        words: "How many at most.",
        required: false,
        kind: BodyKind::Number(1, most as u64),
    }
}
pub(crate) const URI: Parameter = query("uri", "The resource.", true);

pub(crate) const UNCHANGED: Answer = Answer {
    status: 304,
    words: "Nothing has changed since the tag in If-None-Match.",
    content: Content::Nothing,
};
pub(crate) const NO_SUCH_TOOL: Answer =
    Answer { status: 404, words: "There is no such tool.", content: Content::NoSuchTool };
pub(crate) const NO_SUCH: Answer = problem(404, "There is nothing of this name.");
pub(crate) const BAD: Answer = problem(400, "The request cannot be read.");
pub(crate) const TOO_LARGE: Answer = problem(413, "The body is larger than the server takes.");
pub(crate) const NOT_JSON: Answer = problem(415, "The body is not announced as JSON.");

pub(crate) const CONFLICT: Answer =
    problem(409, "The request or operation changed, or the id matches several. Read it again.");
pub(crate) const UNAVAILABLE: Answer = problem(503, "The ledger is unavailable.");

/// The responses to a call.
pub(crate) const CALLED: &[Answer] = &[
    Answer {
        status: 200,
        words: "The tool's result, also if the tool failed (`isError`). With `Accept: text/event-stream`, events: \
                `progress` on the way, then `result` or `problem`.",
        content: Content::Result,
    },
    problem(403, "Calling is switched off, or the call needs approval, or it was denied."),
    problem(409, "The call runs already, or another call must come first: see `next_operation`."),
    problem(410, "The call ended under this key, and its result is not stored."),
    problem(
        422,
        "The arguments are invalid, and `errors` names them. Or the key was used with different arguments.",
    ),
    problem(429, "The caller reached a rate limit or its limit of concurrent requests."),
    problem(503, "The server cannot start the call now. Nothing was run."),
    problem(504, "The tool did not end in time."),
];
