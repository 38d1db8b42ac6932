//! Every name that both sides must spell alike: methods, `_meta` keys, headers, extensions, failures.

/// Methods of requests.
pub mod method {
    /// Legacy handshake.
    pub const INITIALIZE: &str = "initialize";
    /// Legacy liveness check.
    pub const PING: &str = "ping";
    /// Modern self-description.
    pub const DISCOVER: &str = "server/discover";
    /// List of tools.
    pub const TOOLS_LIST: &str = "tools/list";
    /// Call of a tool.
    pub const TOOLS_CALL: &str = "tools/call";
    /// What a call of a tool would do: the hints for its arguments.
    pub const TOOLS_ANNOTATIONS: &str = "tools/annotations";
    /// The same in the form of the extension for tool resolution.
    pub const TOOLS_RESOLVE: &str = "tools/resolve";
    /// List of resources.
    pub const RESOURCES_LIST: &str = "resources/list";
    /// List of resource templates.
    pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
    /// Read of a resource.
    pub const RESOURCES_READ: &str = "resources/read";
    /// What a resource is, without its content.
    pub const RESOURCES_METADATA: &str = "resources/metadata";
    /// What stands directly beneath a resource, by the skills extension.
    pub const DIRECTORY_READ: &str = "resources/directory/read";
    /// List of skills, by the same extension.
    pub const SKILLS_LIST: &str = "skills/list";
    /// One of them.
    pub const SKILLS_GET: &str = "skills/get";
    /// Legacy subscription to one resource.
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// Its end.
    pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
    /// List of prompts.
    pub const PROMPTS_LIST: &str = "prompts/list";
    /// One prompt, filled in.
    pub const PROMPTS_GET: &str = "prompts/get";
    /// Completion of an argument.
    pub const COMPLETE: &str = "completion/complete";
    /// Legacy log level of a session.
    pub const SET_LEVEL: &str = "logging/setLevel";
    /// Modern stream of change notifications.
    pub const LISTEN: &str = "subscriptions/listen";
    /// Question to the person behind the client.
    pub const ELICIT: &str = "elicitation/create";
    /// Question to the model behind the client.
    pub const SAMPLE: &str = "sampling/createMessage";
    /// Question for the client's folders.
    pub const ROOTS_LIST: &str = "roots/list";
}

/// Methods of notifications.
pub mod notification {
    /// The legacy client is ready.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// A request need not be answered any more.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// How far a request has come.
    pub const PROGRESS: &str = "notifications/progress";
    /// A log message.
    pub const MESSAGE: &str = "notifications/message";
    /// The list of tools has changed.
    pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
    /// The list of prompts has changed.
    pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
    /// The list of resources has changed.
    pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
    /// A resource has changed.
    pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
    /// A modern subscription is open.
    pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
}

/// Keys in `_meta`.
pub mod meta {
    /// Revision of a modern request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// What the client of a modern request can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// What the client of a modern request says it is.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Which log messages a modern request wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// What the server of a modern result says it is.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The subscription that a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// A client's name for one operation: the same on every attempt.
    pub const IDEMPOTENCY_KEY: &str = "dev.candor/idempotencyKey";
    /// The token of a preview that the call follows.
    pub const PLAN_TOKEN: &str = "dev.candor/planToken";
    /// Asks for progress notifications.
    pub const PROGRESS_TOKEN: &str = "progressToken";
}

/// Arguments that a server of ours adds to those of its tools, for models, which can write nothing else.
pub mod argument {
    /// The name of the operation.
    pub const IDEMPOTENCY_KEY: &str = "idempotency_key";
    /// From a preview of the same call.
    pub const PLAN_TOKEN: &str = "plan_token";
}

/// HTTP headers, in lower case as the `http` crate keeps them.
pub mod header {
    /// Revision of a request.
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    /// Legacy session.
    pub const SESSION_ID: &str = "mcp-session-id";
    /// Mirror of a modern request's method.
    pub const METHOD: &str = "mcp-method";
    /// Mirror of a modern request's `params.name` or `params.uri`.
    pub const NAME: &str = "mcp-name";
    /// Before the names of headers that mirror tool arguments.
    pub const PARAM_PREFIX: &str = "mcp-param-";
    /// A client's name for one operation: the same on every attempt.
    pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
    /// On an answer that is the result of an earlier attempt.
    pub const REPLAYED: &str = "idempotent-replayed";
    /// Where a legacy client's event stream broke off.
    pub const LAST_EVENT_ID: &str = "last-event-id";
}

/// Extension ids, under `capabilities.extensions` and in `_meta`.
pub mod extension {
    /// Argument-aware annotations as `tools/resolve`, by the working group's draft.
    pub const TOOL_RESOLUTION: &str = "io.modelcontextprotocol/tool-resolution";
    /// Argument-aware annotations as `tools/annotations`.
    pub const DYNAMIC_ANNOTATIONS: &str = "dev.candor/dynamic-annotations";
    /// Idempotency keys.
    pub const IDEMPOTENCY: &str = "dev.candor/idempotency";
    /// Listing the children of a resource as `resources/directory/read` (`directoryRead`), by the published extension.
    pub const SKILLS: &str = "io.modelcontextprotocol/skills";
    /// Resources as a tree with metadata: `resources/metadata`, `resources/list` with a URI; and the mirror of what the
    /// published protocol has no member for.
    pub const RESOURCE: &str = "dev.candor/resource";
    /// What a failed call says to programs.
    pub const ERROR: &str = "dev.candor/error";
    /// The token of a preview, in its result.
    pub const PLAN: &str = "dev.candor/plan";
    /// In a tool's definition: whether its calls can be undone (`possible`), and with which tool (`tool`).
    pub const UNDO: &str = "dev.candor/undo";
    /// In a tool's definition: which schemas of its types cannot be used (`unavailable`: `input`, `output`).
    pub const SCHEMA: &str = "dev.candor/schema";
    /// Approvals.
    pub const APPROVAL: &str = "dev.candor/approval";
    /// Declared by a client: it reads structured content, so large text that only repeats it may be left out. A result says with
    /// `textOmitted` that it was.
    pub const STRUCTURED_CONTENT: &str = "dev.candor/structured-content";
}

/// What progress says of a request that waits for somebody.
pub mod waiting {
    /// The call needs approval. The operation's short id follows.
    pub const FOR_APPROVAL: &str = "Waiting for approval of operation ";
    /// Another attempt of the call runs. Then comes the longest time until its lease ends, as `28 s`.
    pub const FOR_RUNNING: &str = "This call is running already. Waiting for its result. If its server stopped, its lease ends within ";
    /// The server of the running attempt missed a renewal of its lease. Then comes the longest time until that ends.
    pub const FOR_LEASE_OF_SILENT: &str = "The server that ran this call stopped responding. Waiting for its lease, which ends within ";
}

/// Codes of failures that the framework itself reports, in `_meta["dev.candor/error"].code`.
pub mod failure {
    /// The arguments do not fit the input schema.
    pub const INVALID_ARGUMENTS: &str = "invalid_arguments";
    /// The tool said no more than that it failed.
    pub const FAILED: &str = "failed";
    /// Something broke that is none of the caller's business.
    pub const INTERNAL: &str = "internal";
    /// The tool did not end in time.
    pub const TIMED_OUT: &str = "timed_out";
    /// The tool ran, but its result is not what its schema promises.
    pub const RESULT_INVALID: &str = "result_invalid";
    /// The tool wants a key, and there is none.
    pub const KEY_REQUIRED: &str = "idempotency_key_required";
    /// The key cannot be one, or two different ones were sent.
    pub const KEY_INVALID: &str = "idempotency_key_invalid";
    /// The key stands for a call with other arguments.
    pub const KEY_REUSED: &str = "idempotency_key_reused";
    /// The call runs already, or still.
    pub const IN_PROGRESS: &str = "in_progress";
    /// The call was started, and nobody knows what came of it.
    pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";
    /// The call has ended, and its result is no longer kept.
    pub const RESULT_EXPIRED: &str = "result_expired";
    /// The call has ended, and its result was too large to store.
    pub const RESULT_TOO_LARGE: &str = "result_too_large";
    /// An operator has closed the call.
    pub const ABANDONED: &str = "abandoned";
    /// The call cannot be recorded just now, so it was not started.
    pub const LEDGER_UNAVAILABLE: &str = "ledger_unavailable";
    /// The caller has used as many keys as it may.
    pub const QUOTA_EXCEEDED: &str = "quota_exceeded";
    /// The caller has called this tool as often as it may for now.
    pub const RATE_LIMITED: &str = "rate_limited";
    /// The tool wants the token of a preview, and there is none.
    pub const PREVIEW_REQUIRED: &str = "preview_required";
    /// The token of a preview is not for this call, or has expired.
    pub const PLAN_INVALID: &str = "plan_invalid";
    /// What the preview has shown is not so any more.
    pub const PLAN_STALE: &str = "plan_stale";
    /// A person is asked whether the call may start, and has not decided.
    pub const APPROVAL_REQUIRED: &str = "approval_required";
    /// The caller expected the server to ask for approval, and the server would run the call without it.
    pub const DECISION_CHANGED: &str = "decision_changed";
    /// A reviewer or the server's policy denied the call.
    pub const DENIED: &str = "denied";
    /// The call needs approval, and the server cannot store a request for it.
    pub const APPROVAL_UNAVAILABLE: &str = "approval_unavailable";
    /// Too much runs already.
    pub const BUSY: &str = "busy";
}
