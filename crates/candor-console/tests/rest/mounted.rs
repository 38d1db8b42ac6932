//! At the root, or below any path of somebody else's app; methods; paths that nothing is at.

use serde_json::json;

use crate::site::{Site, sample};

#[tokio::test]
async fn a_mount_works_with_and_without_a_slash() {
    for base in ["", "/explorer", "/a/b"] {
        let site = Site::of(sample()).nested(base);
        for path in ["/tools", "/tools/"] {
            let listed = site.get(&format!("{base}{path}")).await.ok();
            assert_eq!(listed.as_array().unwrap().len(), 2, "{base}{path}");
        }
        let home = [
            site.get(&format!("{base}/")).await,
            site.get(if base.is_empty() { "/" } else { base }).await,
        ];
        assert_eq!(home[0].status, home[1].status, "with a slash or without: {base}: {home:?}");
        assert_eq!(home[0].status, 200, "{base}");
        let called =
            site.post(&format!("{base}/tools/get_weather/call"), json!({"city": "Oslo"})).await;
        assert_eq!(called.ok()["content"][0]["text"], "Sunny in Oslo");
        let document = site.get(&format!("{base}/openapi.json")).await.ok();
        assert_eq!(document["servers"][0]["url"], if base.is_empty() { "/" } else { base });
        site.get(&format!("{base}/nothing")).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_shape_of_all_problems() {
    let site = Site::of(sample());
    for path in ["/meta", "/toolsx", "/nothing", "/history/a/b", "/approvals/a/b/c"] {
        site.get(path).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn every_path_says_which_methods_it_takes() {
    let site = Site::of(sample());
    let reads = "GET, HEAD, OPTIONS";
    for (path, allow) in [
        ("/tools", reads),
        ("/tools/get_weather", reads),
        ("/resources", reads),
        ("/resources/metadata", reads),
        ("/resources/content", reads),
        ("/approvals", reads),
        ("/approvals/events", reads),
        ("/approvals/x", reads),
        ("/approvals/x/approve", "POST, OPTIONS"),
        ("/approvals/x/deny", "POST, OPTIONS"),
        ("/approvals/rules", reads),
        ("/approvals/rules/x", "DELETE, OPTIONS"),
        ("/history", reads),
        ("/history/export", reads),
        ("/history/x", reads),
        ("/history/x/resolve", "POST, OPTIONS"),
        ("/openapi.json", reads),
        ("/ui/session", "POST, DELETE, OPTIONS"),
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"] {
            if allow.contains(method) {
                continue;
            }
            let refused = site.ask(method, path).send().await;
            refused.problem(405, "method_not_allowed");
            assert_eq!(refused.header("allow"), allow, "{method} {path}");
        }
        let options = site.ask("OPTIONS", path).send().await;
        assert_eq!((options.status.as_u16(), options.header("allow")), (204, allow), "{path}");
        assert_eq!(options.header("access-control-allow-origin"), "", "no origin was named");
    }
    // What looks at such a path means a tool of that name; everything else means the verb.
    for verb in ["validate", "annotations", "preview", "call"] {
        let path = format!("/tools/get_weather/{verb}");
        for method in ["PUT", "PATCH", "DELETE"] {
            let refused = site.ask(method, &path).send().await;
            refused.problem(405, "method_not_allowed");
            assert_eq!(refused.header("allow"), "POST, OPTIONS");
        }
        let options = site.ask("OPTIONS", &path).send().await;
        assert_eq!(options.header("allow"), "POST, OPTIONS");
        let asked = |method: &'static str| {
            site.ask("OPTIONS", &path).header("access-control-request-method", method).send()
        };
        assert_eq!(asked("POST").await.header("allow"), "POST, OPTIONS");
        assert_eq!(asked("GET").await.header("allow"), reads);
    }
}

#[tokio::test]
async fn a_console_mounts_itself_in_somebody_elses_app() {
    for base in ["/explorer", "/explorer/", "", "/"] {
        let console = candor_console::Console::of(sample().build().unwrap());
        let token = console.launch_token().to_owned();
        let own = axum::routing::get(|| async { "mine" });
        let router = axum::Router::new().route("/own", own).merge(console.mounted(base));
        let site = Site::serving(router, token);
        let base = base.trim_end_matches('/');
        assert_eq!(site.get("/own").await.body, "mine");
        assert_eq!(site.get(&format!("{base}/tools")).await.ok().as_array().unwrap().len(), 2);
        assert_eq!(site.get(&format!("{base}/")).await.status, 200);
    }
}
