//! The names that both sides must spell alike: methods, `_meta` keys, headers, extensions, failures.

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
    /// The hints for a call with its arguments, without a run.
    pub const TOOLS_ANNOTATIONS: &str = "tools/annotations";
    /// The hints for a call, in the form of the tool resolution extension.
    pub const TOOLS_RESOLVE: &str = "tools/resolve";
    /// List of resources.
    pub const RESOURCES_LIST: &str = "resources/list";
    /// List of resource templates.
    pub const RESOURCES_TEMPLATES_LIST: &str = "resources/templates/list";
    /// Read of a resource.
    pub const RESOURCES_READ: &str = "resources/read";
    /// Metadata of a resource, without its content.
    pub const RESOURCES_METADATA: &str = "resources/metadata";
    /// The children of a resource, by the skills extension.
    pub const DIRECTORY_READ: &str = "resources/directory/read";
    /// List of skills, by the skills extension.
    pub const SKILLS_LIST: &str = "skills/list";
    /// One skill.
    pub const SKILLS_GET: &str = "skills/get";
    /// Legacy subscription to one resource.
    pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
    /// End of such a subscription.
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
    /// Question to the client's user.
    pub const ELICIT: &str = "elicitation/create";
    /// Request to the client's model.
    pub const SAMPLE: &str = "sampling/createMessage";
    /// Request for the client's folders.
    pub const ROOTS_LIST: &str = "roots/list";
}

/// Methods of notifications.
pub mod notification {
    /// The legacy client is ready.
    pub const INITIALIZED: &str = "notifications/initialized";
    /// The sender no longer needs a response to a request.
    pub const CANCELLED: &str = "notifications/cancelled";
    /// The progress of a request.
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
    /// The capabilities of a modern request's client.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The name and version of a modern request's client, as it reports them.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// Which log messages a modern request wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The name and version of a modern result's server, as it reports them.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The subscription that a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The caller's name for one operation, the same on every retry.
    pub const IDEMPOTENCY_KEY: &str = "dev.candor/idempotencyKey";
    /// The plan token from a preview of the call.
    pub const PLAN_TOKEN: &str = "dev.candor/planToken";
    /// Asks for progress notifications.
    pub const PROGRESS_TOKEN: &str = "progressToken";
}

/// Arguments that a Candor server adds to those of its tools, because models can write only arguments.
pub mod argument {
    /// The idempotency key.
    pub const IDEMPOTENCY_KEY: &str = "idempotency_key";
    /// The plan token from a preview of the same call.
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
    /// Prefix of the headers that mirror tool arguments.
    pub const PARAM_PREFIX: &str = "mcp-param-";
    /// The caller's name for one operation, the same on every retry.
    pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
    /// On a response that replays the result of an earlier attempt.
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
    /// Resources as a tree with metadata: `resources/metadata`, and `resources/list` with a URI. Also carries what the published
    /// protocol has no member for.
    pub const RESOURCE: &str = "dev.candor/resource";
    /// Details of a failed call, for programs.
    pub const ERROR: &str = "dev.candor/error";
    /// The plan token, in the result of a preview.
    pub const PLAN: &str = "dev.candor/plan";
    /// In a tool's definition: whether its calls can be undone (`possible`), and with which tool (`tool`).
    pub const UNDO: &str = "dev.candor/undo";
    /// In a tool's definition: which schemas of its types cannot be used (`unavailable`: `input`, `output`).
    pub const SCHEMA: &str = "dev.candor/schema";
    /// Approvals.
    pub const APPROVAL: &str = "dev.candor/approval";
    /// Declared by a client that reads structured content: the server may omit large text that only repeats it. The result then
    /// has `textOmitted`.
    pub const STRUCTURED_CONTENT: &str = "dev.candor/structured-content";
}

/// The progress messages of a request that waits.
pub mod waiting {
    /// The call needs approval. The operation's short id follows.
    pub const FOR_APPROVAL: &str = "Waiting for approval of operation ";
    /// Another attempt of the call is running. The longest time until its lease ends follows, as `28 s`.
    pub const FOR_RUNNING: &str = "This call is running already. Waiting for its result. If its server stopped, its lease ends within ";
    /// The server of the running attempt missed a renewal of its lease. The longest time until the lease ends follows.
    pub const FOR_LEASE_OF_SILENT: &str = "The server that ran this call stopped responding. Waiting for its lease, which ends within ";
}

/// Codes of failures that the framework itself reports, in `_meta["dev.candor/error"].code`.
pub mod failure {
    /// The arguments do not match the input schema.
    pub const INVALID_ARGUMENTS: &str = "invalid_arguments";
    /// The tool failed and gave no code.
    pub const FAILED: &str = "failed";
    /// The server failed, and the caller must not see the details.
    pub const INTERNAL: &str = "internal";
    /// The tool did not finish in time.
    pub const TIMED_OUT: &str = "timed_out";
    /// The tool ran, but its result does not match its schema.
    pub const RESULT_INVALID: &str = "result_invalid";
    /// The tool requires a key, and the call has none.
    pub const KEY_REQUIRED: &str = "idempotency_key_required";
    /// The key is invalid, or the call has two different keys.
    pub const KEY_INVALID: &str = "idempotency_key_invalid";
    /// The key belongs to a call with other arguments.
    pub const KEY_REUSED: &str = "idempotency_key_reused";
    /// The call is already running.
    pub const IN_PROGRESS: &str = "in_progress";
    /// The call was started, and its outcome is unknown.
    pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";
    /// The call has ended, and its result is no longer stored.
    pub const RESULT_EXPIRED: &str = "result_expired";
    /// The call has ended, and its result was too large to store.
    pub const RESULT_TOO_LARGE: &str = "result_too_large";
    /// An operator has ended the operation.
    pub const ABANDONED: &str = "abandoned";
    /// The ledger cannot record the call now, so the server did not start it.
    pub const LEDGER_UNAVAILABLE: &str = "ledger_unavailable";
    /// The caller has used up its quota of keys.
    pub const QUOTA_EXCEEDED: &str = "quota_exceeded";
    /// The caller has reached the tool's rate limit.
    pub const RATE_LIMITED: &str = "rate_limited";
    /// The tool requires a plan token, and the call has none.
    pub const PREVIEW_REQUIRED: &str = "preview_required";
    /// The plan token is not for this call, or has expired.
    pub const PLAN_INVALID: &str = "plan_invalid";
    /// The state changed after the preview.
    pub const PLAN_STALE: &str = "plan_stale";
    /// The call needs approval, and no reviewer has decided yet.
    pub const APPROVAL_REQUIRED: &str = "approval_required";
    /// The caller expected the server to ask for approval, and the server would run the call without it.
    pub const DECISION_CHANGED: &str = "decision_changed";
    /// A reviewer or the server's policy denied the call.
    pub const DENIED: &str = "denied";
    /// The call needs approval, and the server cannot store a request for it.
    pub const APPROVAL_UNAVAILABLE: &str = "approval_unavailable";
    /// The policy failed or did not answer in time, so the call is refused.
    pub const POLICY_UNAVAILABLE: &str = "policy_unavailable";
    /// No slot is free.
    pub const BUSY: &str = "busy";
}
