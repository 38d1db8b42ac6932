//! At the root, or below any path of somebody else's app; methods; paths that nothing is at.

use axum::Router;
use axum::routing::get;
use candor_console::Console;
use http::StatusCode;
use serde_json::json;

use crate::site::{Site, sample};

#[tokio::test]
async fn mounted_console_works_with_and_without_a_slash() {
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
async fn unknown_path_is_a_not_found_problem() {
    let site = Site::of(sample());
    for path in ["/meta", "/toolsx", "/nothing", "/history/a/b", "/approvals/a/b/c"] {
        site.get(path).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn every_path_reports_its_allowed_methods() {
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
        ("/approvals/grants", reads),
        ("/approvals/grants/x", "DELETE, OPTIONS"),
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
    // GET and HEAD on such a path mean a tool of that name. Other methods mean the verb.
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
async fn console_mounts_in_another_app() {
    for base in ["/explorer", "/explorer/", "", "/"] {
        let console = Console::of(sample().build().unwrap());
        let token = console.launch_token().to_owned();
        let own = get(|| async { "mine" });
        let none = || async { (StatusCode::NOT_FOUND, "not mine") };
        let app = Router::new().route("/own", own).fallback(none);
        let router = app.merge(console.mounted(base));
        let site = Site::serving(router, token);
        let base = base.trim_end_matches('/');
        assert_eq!(site.get("/own").await.body, "mine");
        assert_eq!(site.get(&format!("{base}/tools")).await.ok().as_array().unwrap().len(), 2);
        assert_eq!(site.get(&format!("{base}/")).await.status, 200);
    }
}

/// A real app has routes of its own and a fallback. The console is not told its prefix.
fn app(console: &Router) -> Vec<(Router, &'static str, &'static [&'static str])> {
    let own = || {
        Router::new()
            .route("/own", get(|| async { "mine" }))
            .fallback(|| async { (StatusCode::NOT_FOUND, "not mine") })
    };
    let router = || console.clone();
    vec![
        (own().nest_service("/admin", router()), "/admin", &["", "/"]),
        (own().nest("/admin", router()), "/admin", &[""]),
        (own().nest("/admin/", router()), "/admin", &["/"]),
        (own().nest("/a", Router::new().nest("/b", router())), "/a/b", &[""]),
        (own().nest("/a", Router::new().nest_service("/b", router())), "/a/b", &["", "/"]),
        (own().nest_service("/a", own().nest("/b", router())), "/a/b", &[""]),
        (own().nest("/{tenant}", router()), "/caf%C3%A9", &[""]),
        (own().nest_service("/{tenant}", router()), "/caf%C3%A9%20&-", &["", "/"]),
    ]
}

#[tokio::test]
async fn every_link_of_a_nested_console_stays_below_its_base() {
    let console = Console::of(sample().build().unwrap()).allow_execute();
    let token = console.launch_token().to_owned();
    for (at, (app, base, homes)) in app(&console.router()).into_iter().enumerate() {
        let site = Site::serving(app, token.clone());
        assert_eq!(site.get("/own").await.body, "mine");
        for home in homes {
            let reply = site.get(&format!("{base}{home}")).await;
            assert_eq!(reply.status, 200, "mount {at}: {base}{home}");
            assert!(reply.body.contains("data-testid=\"tool\""), "mount {at}: {}", reply.body);
        }
        // A browser logs in without a script: the form leads to a page, and the cookie is sent below the prefix alone.
        let form = format!("token={token}");
        let posted = site.ask("POST", &format!("{base}/ui/session"));
        let login = posted.text("application/x-www-form-urlencoded", form).send().await;
        assert_eq!(login.status, 303, "{}", login.body);
        let cookie = login.header("set-cookie").to_owned();
        assert!(cookie.contains(&format!("; Path={base};")), "{cookie}");
        let cookie = cookie.split(';').next().unwrap();

        let mut found = vec![login.header("location").to_owned()];
        let mut next = 0;
        while let Some(path) = found.get(next).cloned() {
            next += 1;
            assert!(path.starts_with(&format!("{base}/")), "mount {at}: {path} leaves {base}");
            let asked = site.ask("GET", &path).header("cookie", cookie);
            let reply = asked.header("accept", "text/html").send().await;
            assert_eq!(reply.status, 200, "mount {at}: {path}: {}", reply.body);
            let linked = match reply.header("content-type") {
                kind if kind.starts_with("text/html") => links(&reply.body),
                kind if kind.starts_with("text/javascript") => imports(&path, &reply.body),
                _ => Vec::new(),
            };
            for link in linked {
                if !found.contains(&link) {
                    found.push(link);
                }
            }
        }
        for page in ["tools", "approvals", "history", "resources", "server", "tools/get_weather"] {
            let page = format!("{base}/ui/{page}");
            assert!(found.contains(&page) || page.ends_with("/resources"), "{page}: {found:?}");
        }
        assert!(found.iter().filter(|path| path.ends_with(".js")).count() > 3, "{found:?}");

        // Pages read the base from here, and open their requests and event streams below it.
        let page = site.get(&format!("{base}/ui/tools")).await.body;
        let escaped = base.replace('&', "&amp;");
        assert!(page.contains(&format!("name=\"candor-base\" content=\"{escaped}\"")), "{page}");
        let call = format!("{base}/tools/get_weather/call");
        let called = site.post(&call, json!({"city": "Oslo"})).await;
        assert_eq!(called.ok()["content"][0]["text"], "Sunny in Oslo");
        let document = site.get(&format!("{base}/openapi.json")).await.ok();
        assert_eq!(document["servers"][0]["url"], base);
        let listed = site.get(&format!("{base}/tools?limit=1")).await;
        assert!(listed.header("link").starts_with(&format!("<{base}/tools?")), "{listed:?}");
        site.get(&format!("{base}/nothing")).await.problem(404, "not_found");
    }
}

/// With captures in its prefix, a router has paths that browsers would read as another host.
#[tokio::test]
async fn mount_prefix_never_becomes_a_host_name() {
    let console = Console::of(sample().build().unwrap());
    let token = console.launch_token().to_owned();
    let site =
        Site::serving(Router::new().nest_service("/{a}/{b}", console.router()), token.clone());
    let posted = site.ask("POST", "//evil.example/ui/session");
    let form = format!("token={token}");
    let login = posted.text("application/x-www-form-urlencoded", form).send().await;
    assert_eq!(login.header("location"), "/", "{login:?}");
    let page = site.get("//evil.example/ui/tools").await;
    assert!(page.status == 200 && !page.body.contains("//evil.example"), "{}", page.body);
}

/// What a page links to on this server.
fn links(html: &str) -> Vec<String> {
    let attributes = ["href=\"", "src=\"", "action=\""];
    let values = attributes.iter().flat_map(|name| html.split(name).skip(1));
    let paths = values.map(|rest| rest.split(['"', '#', '?']).next().unwrap());
    let paths = paths.filter(|path| path.starts_with('/') && !path.ends_with("/ui/session"));
    paths.map(|path| path.replace("&amp;", "&")).collect()
}

/// The modules that a module loads, which are beside it.
fn imports(path: &str, script: &str) -> Vec<String> {
    let (folder, _) = path.rsplit_once('/').unwrap();
    let names = script.split(" from \"./").skip(1).map(|rest| rest.split('"').next().unwrap());
    names.map(|name| format!("{folder}/{name}")).collect()
}
