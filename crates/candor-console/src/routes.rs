//! The routes of a console, one row each: who may use it, what it needs, its handler, and its description for OpenAPI.
//!
//! Routing, checks and `/openapi.json` read these rows. A path means its first matching row, so fixed paths come before those with
//! a placeholder.

use std::future::ready;

use candor_server::transport::http::SlotKind;

use crate::access::Access::{Anyone, Authenticated, Caller, Operator};
use crate::operation::{
    Answer, BodyKind, CONFLICT, CURSOR, Content, EXPECT, KEY, NO_SUCH, OPERATION, Parameter, TOOL,
    UNCHANGED, URI, at, json, limit, problem, query,
};
use crate::rest::tools::{self, Verb};
use crate::rest::{approvals, history, openapi, resources, watching};
use crate::route::Route;
use crate::ui;
use approvals::ReviewVerb;

const HISTORY_QUERY: &[Parameter] = &[
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
    query("rows", "`true`: audit rows instead of operations.", false),
    limit(history::MOST),
    Parameter { kind: BodyKind::Number(0, 1 << 53), ..CURSOR },
];

const QUERY_KEY: Parameter = query("key", "The same as Idempotency-Key.", false);

/// The filters of the history, without the page.
const FILTERS: &[Parameter] = HISTORY_QUERY.split_at(6).0;

pub(crate) static ROUTES: &[Route] = &[
    Route::get("/tools", Caller, |c, r| Box::pin(tools::list(c, r)))
        .of_server(SlotKind::Request)
        .described(
            "listTools",
            "All tools, or a page of them; the next one is in the header Link.",
            &[limit(tools::PAGE), CURSOR],
            &[json("ToolList", "The tools in their order."), UNCHANGED],
        ),
    Route::post("/tools/{name}/validate", Caller, |c, r| {
        Box::pin(tools::act(c, r, &r.param, Verb::Validate))
    })
    .of_server(SlotKind::Request)
    .described(
        "validateCall",
        "Whether these arguments would be accepted. Nothing is run.",
        &[TOOL, KEY, QUERY_KEY],
        &[json("Validation", "Yes, or what is wrong.")],
    )
    .takes("Arguments"),
    Route::post("/tools/{name}/annotations", Caller, |c, r| {
        Box::pin(tools::act(c, r, &r.param, Verb::Annotations))
    })
    .of_server(SlotKind::Request)
    .described(
        "explainCall",
        "Explains a call: its effect, and the decision on it. Nothing is run.",
        &[TOOL, KEY, QUERY_KEY],
        &[json("Decision", "The effect of the call and the decision on it.")],
    )
    .takes("Arguments"),
    Route::post("/tools/{name}/preview", Authenticated, |c, r| {
        Box::pin(tools::act(c, r, &r.param, Verb::Preview))
    })
    .of_server(SlotKind::Request)
    .runs()
    .described(
        "previewCall",
        "Calls the tool that shows what this call would do.",
        &[TOOL],
        &[Answer {
            status: 404,
            words: "There is no such tool, or it has no preview.",
            content: Content::NoSuchToolOrProblem,
        }],
    )
    .takes("Arguments"),
    Route::post("/tools/{name}/call", Authenticated, |c, r| {
        Box::pin(tools::act(c, r, &r.param, Verb::Call))
    })
    .of_server(SlotKind::Request)
    .runs()
    .ordered()
    .described("callTool", "Calls the tool.", &[TOOL, KEY, QUERY_KEY, EXPECT], &[])
    .takes("Arguments"),
    Route::get("/tools/{name}", Caller, |c, r| Box::pin(tools::one(c, r, &r.param)))
        .of_server(SlotKind::Request)
        .described(
            "getTool",
            "A tool with its schemas.",
            &[TOOL],
            &[json("Tool", "The tool."), UNCHANGED],
        ),
    Route::get("/resources", Authenticated, |c, r| Box::pin(resources::list(c, r)))
        .of_server(SlotKind::Request)
        .proof(true)
        .described(
            "listResources",
            "Lists the resources at the root, or the children of one.",
            &[query("uri", "The resource whose children to list.", false), CURSOR],
            &[json("ResourceList", "A page of resources."), UNCHANGED, NO_SUCH],
        ),
    Route::get("/resources/metadata", Authenticated, |c, r| Box::pin(resources::metadata(c, r)))
        .of_server(SlotKind::Request)
        .proof(true)
        .described(
            "getResource",
            "What a resource is, without its content.",
            &[URI],
            &[json("ResourceMetadata", "The resource."), UNCHANGED, NO_SUCH],
        ),
    Route::get("/resources/content", Authenticated, |c, r| Box::pin(resources::content(c, r)))
        .of_server(SlotKind::Request)
        .proof(true)
        .described(
            "readResource",
            "The content of a resource.",
            &[URI],
            &[
                json("ResourceContent", "The content."),
                NO_SUCH,
                problem(422, "The resource cannot be read, and `detail` has the reason."),
            ],
        ),
    Route::get("/resources/events", Authenticated, |c, r| Box::pin(watching::events(c, r)))
        .of_server(SlotKind::Stream)
        .described(
            "watchResources",
            "Sends the changes of resources while the connection is open. \
         Repeat `uri` for more resources.",
            &[URI],
            &[
                Answer {
                    status: 200,
                    words: "Events: `watching`, `changed`, `list`; or `problem`.",
                    content: Content::Events,
                },
                NO_SUCH,
            ],
        ),
    Route::get("/approvals", Operator, |c, r| Box::pin(approvals::list(c, r)))
        .of_ledger()
        .described(
            "listApprovals",
            "Lists up to 200 approval requests, oldest first. \
             Each caller has a fair share of the list.",
            &[],
            &[json(
                "ApprovalRequestList",
                "The requests; `X-Total-Count` has the number of all requests.",
            )],
        ),
    // It takes no slot: it has a limit of its own, and only operators have access.
    Route::get("/approvals/events", Operator, |c, r| Box::pin(ready(approvals::events(c, r))))
        .of_ledger()
        .described(
            "watchApprovals",
            "Sends the number of approval requests whenever it changes.",
            &[],
            &[Answer { status: 200, words: "Events: `waiting`.", content: Content::Events }],
        ),
    Route::get("/approvals/grants", Operator, |c, r| Box::pin(approvals::grants(c, r)))
        .of_ledger()
        .described("listGrants", "Lists active grants.", &[], &[json("Grants", "The grants.")]),
    Route::delete("/approvals/grants/{id}", Operator, |c, r| {
        Box::pin(approvals::revoke(c, r, &r.param))
    })
    .of_ledger()
    .described(
        "revokeGrant",
        "Revokes a grant.",
        &[at("id", "The grant's id.")],
        &[json("Grant", "The grant as it is now.")],
    ),
    Route::get("/approvals/{id}", Operator, |c, r| Box::pin(approvals::one(c, r, &r.param)))
        .of_ledger()
        .described(
            "getApproval",
            "Returns an approval request.",
            &[OPERATION],
            &[json("ApprovalRequest", "The approval request."), CONFLICT],
        ),
    Route::post("/approvals/{id}/approve", Operator, |c, r| {
        Box::pin(approvals::decide(c, r, &r.param, ReviewVerb::Approve))
    })
    .of_ledger()
    .described(
        "approveCall",
        "Approves a call, and optionally grants similar calls.",
        &[OPERATION],
        &[json("Review", "It was recorded."), CONFLICT],
    )
    .takes("Approval"),
    Route::post("/approvals/{id}/deny", Operator, |c, r| {
        Box::pin(approvals::decide(c, r, &r.param, ReviewVerb::Deny))
    })
    .of_ledger()
    .described(
        "denyCall",
        "Denies a call.",
        &[OPERATION],
        &[json("Review", "It was recorded."), CONFLICT],
    )
    .takes("Denial"),
    Route::get("/history", Operator, |c, r| Box::pin(history::list(c, r))).of_ledger().described(
        "listOperations",
        "Lists past operations, the latest first.",
        HISTORY_QUERY,
        &[json("Operations", "A page of them.")],
    ),
    // It takes a slot: it is the only ledger query that may take long, and it can wait.
    Route::get("/history/export", Operator, |c, r| Box::pin(ready(history::export(c, r))))
        .of_ledger()
        .slot(SlotKind::Request)
        .described(
            "exportHistory",
            "Exports audit rows as lines of JSON, the earliest first.",
            FILTERS,
            &[Answer { status: 200, words: "History.", content: Content::Lines }],
        ),
    Route::get("/history/{id}", Operator, |c, r| Box::pin(history::one(c, r, &r.param)))
        .of_ledger()
        .described(
            "getOperation",
            "Returns an operation with its timeline and its result.",
            &[OPERATION],
            &[json("Operation", "The operation."), CONFLICT],
        ),
    Route::post("/history/{id}/resolve", Operator, |c, r| {
        Box::pin(history::resolve(c, r, &r.param))
    })
    .of_ledger()
    .described(
        "resolveOperation",
        "Resolves a call whose outcome is unknown.",
        &[OPERATION],
        &[json("Operation", "It was recorded."), CONFLICT],
    )
    .takes("Resolution"),
    Route::get("/openapi.json", Caller, |c, r| Box::pin(openapi::answer(c, r, ROUTES)))
        .slot(SlotKind::Request)
        .described(
            "describe",
            "This document.",
            &[],
            &[json("Anything", "An OpenAPI document."), UNCHANGED],
        ),
    // Pages, and what belongs to them.
    Route::get("/", Caller, |c, r| Box::pin(ui::tools::page(c, r))).of_server(SlotKind::Request),
    // Without a server, there are no tools to show first.
    Route::get("/", Operator, |c, r| Box::pin(ui::approvals::page(c, r))).of_ledger(),
    Route::get("/ui/tools/{name}", Caller, |c, r| Box::pin(ui::tool::page(c, r, &r.param)))
        .of_server(SlotKind::Request),
    Route::get("/ui/approvals", Operator, |c, r| Box::pin(ui::approvals::page(c, r))).of_ledger(),
    Route::get("/ui/approvals/{id}", Operator, |c, r| Box::pin(ui::approvals::one(c, r, &r.param)))
        .of_ledger(),
    Route::get("/ui/history", Operator, |c, r| Box::pin(ui::history::page(c, r))).of_ledger(),
    Route::get("/ui/history/{id}", Operator, |c, r| Box::pin(ui::operation::page(c, r, &r.param)))
        .of_ledger(),
    Route::get("/ui/resources", Authenticated, |c, r| Box::pin(ready(ui::resources::page(c, r))))
        .of_server(SlotKind::Request),
    Route::get("/ui/server", Caller, |c, r| Box::pin(ui::server::page(c, r)))
        .of_server(SlotKind::Request),
    // A login sends the token itself, and a logout ends only the caller's own session. So neither needs a proof.
    Route::post("/ui/session", Anyone, |c, r| Box::pin(ui::session::log_in(c, r))).login(),
    Route::delete("/ui/session", Anyone, |c, r| Box::pin(ready(Ok(ui::session::log_out(c, r)))))
        .login(),
    Route::get("/ui/assets/{name}", Anyone, |_, r| {
        Box::pin(ready(ui::assets::answer(r, &r.param)))
    }),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::problem::Problem;
    use crate::route::{MatchedPath, encoded};

    fn find(path: &str, reads: bool) -> Result<MatchedPath, Problem> {
        MatchedPath::find(ROUTES, path, reads, true)
    }

    /// Returns the path and the value of the placeholder.
    fn read(path: &str, reads: bool) -> (&'static str, String) {
        let found = find(path, reads).unwrap();
        let method = if reads { "GET" } else { "POST" };
        (found.route(method).unwrap().path, found.value)
    }

    #[test]
    fn every_route_is_found_by_its_path_and_method() {
        for row in ROUTES {
            let path = row.path.replace("{name}", "x").replace("{id}", "x");
            let is_home_of_ledger = row.path == "/" && row.access == Operator;
            let found =
                MatchedPath::find(ROUTES, &path, row.method == "GET", !is_home_of_ledger).unwrap();
            let route = found.route(row.method).unwrap();
            assert!(std::ptr::eq(route, row), "{} {path} leads to {}", row.method, route.path);
            let allowed = found.allowed();
            let mut allowed = allowed.to_str().unwrap().split(", ");
            assert!(allowed.any(|method| method == row.method), "{path}");
            assert_eq!(found.value, if row.path.contains('{') { "x" } else { "" });
        }
    }

    #[test]
    fn every_api_route_is_described_with_its_path_parameters() {
        let mut ids = HashSet::new();
        for row in ROUTES {
            let is_page = row.path == "/" || row.path.starts_with("/ui/");
            assert_eq!(row.operation.is_none(), is_page, "{}", row.path);
            let Some(operation) = &row.operation else { continue };
            assert!(ids.insert(operation.id), "{}", operation.id);
            let names = row.path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
            let of_path = operation.parameters.iter().filter(|p| p.place == "path" && p.required);
            assert!(of_path.map(|p| p.name).eq(names), "{}", row.path);
        }
        assert_eq!(ids.len(), 22);
    }

    #[test]
    fn route_decodes_a_tool_name_once() {
        for name in
            ["image/resize", "100% sure?", "x/call", "validate", "..", "é ü", "a%2Fb", "a//b"]
        {
            let path = format!("/tools/{}", encoded(name));
            assert_eq!(read(&path, true), ("/tools/{name}", name.to_owned()), "{path}");
            let path = format!("{path}/call");
            assert_eq!(read(&path, false), ("/tools/{name}/call", name.to_owned()), "{path}");
        }
        assert_eq!(read("/tools/image/resize", true).1, "image/resize");
        assert_eq!(read("/tools/a%252Fb", true).1, "a%2Fb");
        assert_eq!(read("/tools/x/call", true).1, "x/call");
        assert_eq!(read("/tools/", true).0, "/tools");
    }

    #[test]
    fn invalid_percent_encoding_is_refused() {
        for path in ["/tools/100%_sure", "/tools/%", "/tools/%ff%fe", "/tools/%4"] {
            let problem = find(path, true).err().unwrap();
            assert_eq!(problem.status(), http::StatusCode::BAD_REQUEST, "{path}");
        }
        for path in ["/meta", "/toolsx", "/ui/nothing", "/history/a/b", "/approvals/a/b"] {
            let problem = find(path, true).err().unwrap();
            assert_eq!(problem.status(), http::StatusCode::NOT_FOUND, "{path}");
        }
    }

    #[test]
    fn console_without_a_server_has_no_routes_of_one() {
        for path in ["/tools", "/tools/x", "/resources", "/ui/server", "/ui/tools/x"] {
            assert!(MatchedPath::find(ROUTES, path, true, false).is_err(), "{path}");
        }
        for path in ["/", "/ui/tools", "/approvals", "/openapi.json", "/ui/assets/console.js"] {
            assert!(MatchedPath::find(ROUTES, path, true, false).is_ok(), "{path}");
        }
    }
}
