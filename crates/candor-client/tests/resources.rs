//! Trees of resources from the client's side: what a client may rely on, and trees that want to trap it.

mod common;

use std::time::Duration;

use axum::http::StatusCode;
use candor::prelude::*;
use candor_client::{Change, Error, Interest, Snapshot, Walk, WalkStop, bytes_of};
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use common::scripted::{Asked, Say, Scripted, events, modern, status};
use common::{everywhere, soon};

fn complete(mut result: Value) -> Say {
    result["resultType"] = "complete".into();
    result["ttlMs"] = 0.into();
    result["cacheScope"] = "private".into();
    Say::Result(result)
}

fn folder(uri: &str) -> Value {
    json!({"uri": uri, "name": uri, "capabilities": {"list": true, "subscribe": false}})
}

fn tree() -> Value {
    json!({"resources": {}, "extensions": {"dev.candor/resource": {}}})
}

async fn names(mut walk: Walk) -> (Vec<String>, Option<WalkStop>) {
    let mut names = Vec::new();
    while let Some(step) = soon(walk.next()).await {
        names.push(step.map_or_else(|failed| format!("! {failed}"), |step| step.resource.uri));
    }
    (names, walk.stopped())
}

/// A tree in which every folder has another one.
async fn endless() -> Scripted {
    modern(tree(), |asked| match asked.method.as_str() {
        "resources/metadata" => complete(json!({"resource": folder("x:/")})),
        "resources/list" => {
            let uri = asked.params["uri"].as_str().unwrap();
            complete(
                json!({"resources": [folder(&format!("{uri}a/")), folder(&format!("{uri}b/"))]}),
            )
        }
        other => panic!("{other}"),
    })
    .await
}

#[tokio::test]
async fn walk_of_an_endless_tree_stops_at_its_limits() {
    let server = endless().await;
    let client = soon(server.client().into_future()).await.unwrap();
    let (found, stopped) = names(client.walk("x:/").depth(3)).await;
    assert_eq!((found.len(), stopped), (1 + 2 + 4 + 8, Some(WalkStop::Depth)));
    let (found, stopped) = names(client.walk("x:/").depth(1000).count(50)).await;
    assert_eq!((found.len(), stopped), (50, Some(WalkStop::Count)));
    let (_, stopped) = names(
        client.walk("x:/").depth(1_000_000).count(1_000_000).time(Duration::from_millis(200)),
    )
    .await;
    assert_eq!(stopped, Some(WalkStop::Time));
    let streamed = client.walk("x:/").depth(2).into_stream();
    assert_eq!(soon(streamed.count()).await, 7);
}

#[tokio::test]
async fn walk_visits_resources_of_a_cycle_once() {
    let server = modern(tree(), |asked| match asked.method.as_str() {
        "resources/metadata" => complete(json!({"resource": folder("x:/a")})),
        "resources/list" => {
            complete(json!({"resources": [folder("x:/a"), folder("x:/b"), folder("x:/b")]}))
        }
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let (found, stopped) = names(client.walk("x:/a")).await;
    assert_eq!((found, stopped), (vec!["x:/a".to_owned(), "x:/b".to_owned()], None));
}

#[tokio::test]
async fn failing_folder_does_not_end_the_walk() {
    let server = modern(tree(), |asked| match asked.method.as_str() {
        "resources/list" => match asked.params["uri"].as_str() {
            None => complete(json!({"resources": [folder("x:/endless"), folder("x:/broken"), folder("x:/good")]})),
            Some("x:/endless") => complete(json!({"resources": [], "nextCursor": asked.nth.to_string()})),
            Some("x:/broken") => Say::Error(-32603, "disk on fire"),
            Some(_) => complete(json!({"resources": [{"uri": "x:/good/file", "name": "file"}]})),
        },
        other => panic!("{other}"),
    })
    .await;
    let mut limits = candor_client::ClientLimits::default();
    limits.max_pages = 10;
    let client = soon(server.client().limits(limits).into_future()).await.unwrap();
    let (found, _) = names(client.walk_all()).await;
    assert!(found.contains(&"x:/good/file".to_owned()), "{found:?}");
    assert!(found.iter().any(|line| line.contains("disk on fire")), "{found:?}");
    assert!(found.iter().any(|line| line.contains("does not end")), "{found:?}");
}

#[tokio::test]
async fn resource_without_a_list_capability_is_not_listed() {
    let server = modern(tree(), |asked| match asked.method.as_str() {
        "resources/list" if asked.params["uri"].is_null() => complete(json!({"resources": [
            {"uri": "x:/silent/", "name": "silent"},
            {"uri": "x:/no", "name": "no", "capabilities": {"list": false}},
            {"uri": "x:/new", "name": "new", "capabilities": {"fly": true}},
            {"uri": "x:/typed", "name": "typed", "mimeType": "inode/directory"},
        ]})),
        "resources/list" => panic!("{:?} is not listable", asked.params["uri"]),
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    assert_eq!(names(client.walk_all()).await.0.len(), 4);
    let refused = soon(client.listen(Interest::new().resource("x:/no"))).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn only_watched_resources_can_be_subscribed() {
    // The server reports changes of resources, but not of this one.
    let resource = |set: ResourceSet, uri: &'static str| {
        let contents = |uri: String, _| async move {
            Ok(vec![ResourceContents::of_text(uri, "text/plain", "x")])
        };
        set.resource(Resource::new(uri, uri), contents)
    };
    let server = || {
        let set = resource(resource(ResourceSet::new(), "memo:///today"), "memo:///still");
        Server::new("memos", "1").resources(set.watched("memo:///today"))
    };
    everywhere(server, async |way, connect| {
        let client = soon(connect.into_future()).await.expect(&way);
        let listen = async |uri: &str| soon(client.listen(Interest::new().resource(uri))).await;
        assert!(listen("memo:///today").await.is_ok(), "{way}");
        assert!(listen("memo:///still").await.is_err(), "{way}");
        soon(client.close()).await;
    })
    .await;
}

#[tokio::test]
async fn changes_arrive_also_if_the_server_spells_uris_in_another_way() {
    let server = modern(json!({"resources": {"subscribe": true}}), |asked| {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": asked.id});
        let heard = json!({"_meta": meta, "notifications": {
            "resourceSubscriptions": ["notes://host/a-b", "notes://host/folder%20c"],
        }});
        let updates = ["notes://host/other", "notes://host/a-b", "notes://host/folder%20c/inside"];
        let updates = updates.map(|uri| ("notifications/resources/updated", json!({"uri": uri})));
        let all = [("notifications/subscriptions/acknowledged", heard)].into_iter().chain(updates);
        let line = |(method, params): (&str, Value)| {
            format!("data: {}\n\n", json!({"jsonrpc": "2.0", "method": method, "params": params}))
        };
        Say::Whole(events(all.map(line).collect::<String>()))
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let interest = Interest::new().resource("NOTES://Host/a%2Db").resource("notes://host/folder c");
    let mut changes = soon(client.listen(interest)).await.unwrap();
    let listened = Change::Resource("NOTES://Host/a%2Db".to_owned());
    assert_eq!(soon(changes.next()).await, listened, "it is spelled as the listener spells it");
    let inside = Change::Resource("notes://host/folder%20c/inside".to_owned());
    assert_eq!(soon(changes.next()).await, inside);
    let unwatched = soon(client.listen(Interest::new().resource("notes://host/A-b"))).await;
    assert!(matches!(unwatched, Err(Error::Unsupported(_))), "{unwatched:?}");
}

#[tokio::test]
async fn children_are_listed_by_the_method_that_the_server_has() {
    let children = || {
        json!({"resources": [
            {"uri": "file:///project/src/main.ts", "name": "main.ts", "mimeType": "text/typescript"},
            {"uri": "file:///project/src/app.ts", "name": "app.ts", "mimeType": "text/typescript"},
        ]})
    };
    let by_list = tree();
    let by_directory = json!({"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}}});
    let neither = json!({"resources": {}});
    for (capabilities, wanted) in [
        (by_list, "resources/list"),
        (by_directory, "resources/directory/read"),
        (neither, "resources/read"),
    ] {
        let server = modern(capabilities, move |asked: &Asked| match asked.method.as_str() {
            "resources/metadata" => complete(json!({"resource": folder("file:///project/src")})),
            // Only the first one knows what `uri` means.
            "resources/list" if wanted != "resources/list" || asked.params["uri"].is_null() => {
                complete(json!({"resources": [folder("file:///project/src")]}))
            }
            "resources/list" | "resources/directory/read" => complete(children()),
            "resources/read" => {
                let contents: Vec<Value> = children()["resources"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|child| {
                        let mut content = child.clone();
                        content["text"] = "".into();
                        content
                    })
                    .collect();
                complete(json!({"contents": contents}))
            }
            other => panic!("{other}"),
        })
        .await;
        let client = soon(server.client().into_future()).await.unwrap();
        let (found, _) = names(client.walk("file:///project/src")).await;
        let expected =
            ["file:///project/src", "file:///project/src/main.ts", "file:///project/src/app.ts"];
        assert_eq!(found, expected, "{wanted}");
        assert!(server.methods().contains(&wanted.to_owned()), "{:?}", server.methods());
    }
}

#[tokio::test]
async fn next_list_method_is_used_if_an_announced_one_is_missing() {
    let server = modern(
        json!({"resources": {}, "extensions": {"dev.candor/resource": {},
            "io.modelcontextprotocol/skills": {"directoryRead": true}}}),
        |asked| match asked.method.as_str() {
            "resources/list" if asked.params["uri"].is_null() => {
                complete(json!({"resources": [folder("x:/")]}))
            }
            "resources/directory/read" => {
                complete(json!({"resources": [{"uri": "x:/a", "name": "a"}]}))
            }
            _ => Say::Error(-32601, "Method not found"),
        },
    )
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    assert_eq!(names(client.walk_all()).await.0, ["x:/", "x:/a"]);
    assert_eq!(soon(client.children("x:/")).await.unwrap().unwrap().len(), 1);
    // Metadata, from the list.
    assert_eq!(soon(client.metadata("x:/")).await.unwrap().name, "x:/");
}

#[tokio::test]
async fn walk_since_a_snapshot_leaves_out_unchanged_resources() {
    let server = modern(tree(), |asked| match asked.method.as_str() {
        "resources/list" => {
            let modified = if asked.nth < 1 { "2026-01-01T00:00:00Z" } else { "2026-02-02T00:00:00Z" };
            complete(json!({"resources": [
                {"uri": "x:/same", "name": "same", "size": 3, "annotations": {"lastModified": "2026-01-01T00:00:00Z"}},
                {"uri": "x:/touched", "name": "touched", "annotations": {"lastModified": modified}},
                {"uri": "x:/silent", "name": "silent"},
            ]}))
        }
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let mut before = Snapshot::new();
    let mut walk = client.walk_all();
    while let Some(step) = soon(walk.next()).await {
        before.note(&step.unwrap().resource);
    }
    let (found, _) = names(client.walk_all().changed_since(before)).await;
    assert_eq!(found, ["x:/touched", "x:/silent"]);
    assert!(!server.methods().contains(&"resources/read".to_owned()), "no content was loaded");
}

#[tokio::test]
async fn metadata_is_refreshed_without_reading_contents() {
    let server = modern(tree(), |asked| match asked.method.as_str() {
        "resources/metadata" => {
            let (title, picture, size) = if asked.nth == 0 {
                ("Draft", "x:/d.png", 3)
            } else {
                ("Report", "x:/r.png", 9_000)
            };
            complete(json!({"resource": {"uri": "x:/report", "name": "report", "title": title,
                "icons": [{"src": picture}], "size": size}}))
        }
        other => panic!("{other}"),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    for (title, picture, size) in [("Draft", "x:/d.png", 3), ("Report", "x:/r.png", 9_000)] {
        let now = soon(client.metadata("x:/report")).await.unwrap();
        let icons = now.icons.unwrap();
        assert_eq!((now.title.as_deref(), icons[0].src.as_str()), (Some(title), picture));
        assert_eq!(now.size.unwrap().to_string(), size.to_string());
    }
}

#[tokio::test]
async fn preferred_format_of_a_resource_is_picked() {
    let server = modern(json!({"resources": {}}), |asked| match asked.params["uri"].as_str().unwrap() {
        "x:/report" => complete(json!({"contents": [
            {"uri": "x:/report", "mimeType": "application/pdf", "blob": "JVBERg=="},
            {"uri": "x:/report", "mimeType": "text/plain; charset=utf-8", "text": "report", "future": {"a": 1}},
        ]})),
        "x:/several" => complete(json!({"contents": [
            {"uri": "x:/first", "text": "1"}, {"uri": "x:/second", "text": "2"},
        ]})),
        other => Say::Whole(status(StatusCode::NOT_FOUND, other)),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let report = soon(client.read("x:/report")).await.unwrap();
    assert_eq!(report.formats().len(), 2);
    let text = report.preferred(&["text/html", "text/*"]).unwrap();
    assert_eq!(text.text.as_deref(), Some("report"));
    assert_eq!(text.extra.get("future").unwrap().text(), r#"{"a":1}"#);
    assert_eq!(&*bytes_of(report.preferred(&["application/pdf"]).unwrap()).unwrap(), b"%PDF");
    assert_eq!(
        report.preferred(&["image/png"]).unwrap().mime_type.as_deref(),
        Some("application/pdf")
    );
    assert!(report.format("image/png").is_none());
    assert_eq!(report.format("text/*").unwrap().text.as_deref(), Some("report"));
    let several = soon(client.read("x:/several")).await.unwrap();
    assert_eq!(several.preferred(&[]).unwrap().uri, "x:/first");
    assert_eq!(several.others().len(), 2);
}

#[tokio::test]
async fn annotations_of_an_embedded_resource_win_over_its_block() {
    let server = modern(json!({"tools": {}}), |asked| match asked.method.as_str() {
        "tools/list" => common::scripted::tools(&json!([common::scripted::tool("t", &Value::Null)])),
        _ => Say::Result(json!({"resultType": "complete", "content": [
            {"type": "resource", "annotations": {"priority": 0.1}, "resource": {"uri": "x:/a", "text": "", "annotations": {"priority": 0.9}}},
            {"type": "resource", "annotations": {"priority": 0.2}, "resource": {"uri": "x:/b", "text": ""}},
        ]})),
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    let result = soon(client.call("t", json!({})).into_future()).await.unwrap();
    let advice: Vec<f64> = result
        .content()
        .iter()
        .map(|block| match block {
            Content::Resource(embedded) => {
                embedded.advice().unwrap().priority.as_ref().unwrap().as_f64()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(advice, [0.9, 0.2]);
}

#[tokio::test]
async fn private_answers_are_cached_per_token() {
    let server = modern(json!({"resources": {}}), |asked| {
        let scope = if asked.params["uri"] == "x:/public" { "public" } else { "private" };
        Say::Result(json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": scope,
            "contents": [{"uri": asked.params["uri"], "text": asked.nth.to_string()}]}))
    })
    .await;
    let cache = candor_client::Cache::new();
    let client = async |token: &str| {
        soon(server.client().bearer(token).cache(&cache).into_future()).await.unwrap()
    };
    let (ada, again, bob) = (client("ada").await, client("ada").await, client("bob").await);
    for client in [&ada, &again, &bob] {
        for uri in ["x:/public", "x:/private"] {
            soon(client.read(uri)).await.unwrap();
            soon(client.read(uri)).await.unwrap();
        }
    }
    let read: Vec<_> = server
        .asked("resources/read")
        .iter()
        .map(|a| {
            let who = a.headers.get("authorization").unwrap().to_str().unwrap().to_owned();
            format!("{} {}", a.params["uri"].as_str().unwrap(), who)
        })
        .collect();
    assert_eq!(read, ["x:/public Bearer ada", "x:/private Bearer ada", "x:/private Bearer bob"]);
    cache.clear();
    soon(ada.read("x:/public")).await.unwrap();
    assert_eq!(server.asked("resources/read").len(), 4);
}

#[tokio::test]
async fn answer_after_an_input_round_is_not_cached() {
    let server = modern(json!({"resources": {}}), |asked| match asked.params.get("requestState") {
        None => Say::Result(json!({"resultType": "input_required", "requestState": "s"})),
        Some(_) => {
            Say::Result(json!({"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public",
            "contents": [{"uri": "x:/a", "text": ""}]}))
        }
    })
    .await;
    let client = soon(server.client().into_future()).await.unwrap();
    soon(client.read("x:/a")).await.unwrap();
    soon(client.read("x:/a")).await.unwrap();
    assert_eq!(server.asked("resources/read").len(), 4);
}

fn folder_server(root: &std::path::Path) -> Server {
    let folder = candor::files::Root::open(root).unwrap();
    Server::new("files", "1").resources(Directory::of(folder))
}

#[tokio::test]
async fn folder_is_walked_read_and_watched_over_every_transport() {
    let root = std::env::temp_dir().join(format!("candor-client-{}", std::process::id()));
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::write(root.join("a/b/deep.txt"), "deep").unwrap();
    std::fs::write(root.join("top.txt"), "top").unwrap();
    everywhere(
        || folder_server(&root),
        async |way, connect| {
            let client = soon(connect.into_future()).await.expect(&way);
            let mut walk = client.walk_all();
            let mut found = Vec::new();
            let mut deep = None;
            while let Some(step) = soon(walk.next()).await {
                let step = step.expect(&way);
                if step.resource.name == "deep.txt" {
                    deep = Some(step.resource.uri.clone());
                }
                found.push((step.depth, step.resource.name));
            }
            found.sort();
            assert!(found.iter().any(|(_, name)| name == "top.txt"), "{way}: {found:?}");
            let deep = deep.expect(&way);
            let read = soon(client.read(&deep)).await.expect(&way);
            assert_eq!(read.preferred(&["text/*"]).unwrap().text.as_deref(), Some("deep"), "{way}");
            assert_eq!(soon(client.metadata(&deep)).await.expect(&way).name, "deep.txt", "{way}");

            let mut changes =
                soon(client.listen(Interest::new().resource(&deep))).await.expect(&way);
            std::fs::write(root.join("a/b/deep.txt"), format!("deep {way}")).unwrap();
            assert_eq!(soon(changes.next()).await, Change::Resource(deep.clone()), "{way}");
            drop(changes);
            std::fs::write(root.join("a/b/deep.txt"), "deep").unwrap();
            let missing = soon(client.read("file:///nowhere")).await.unwrap_err();
            assert!(matches!(missing, Error::Server(_)), "{way}: {missing}");
            soon(client.close()).await;
        },
    )
    .await;
    std::fs::remove_dir_all(root).unwrap();
}
