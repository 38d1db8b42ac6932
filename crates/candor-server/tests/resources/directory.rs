//! The same children by the published extension, and what a server declares of it.

use candor_server::protocol::types::Resource;
use candor_server::resource::ResourceSet;
use serde_json::{Value, json};

use crate::common::{memos, server};
use crate::{docs, everywhere, everywhere_knowing, knowing, uris};

const METHOD: &str = "resources/directory/read";

#[tokio::test(start_paused = true)]
async fn directory_read_returns_the_listed_children() {
    everywhere(docs, async |peer| {
        let listed = peer.children("docs:///").await;
        let mut read = peer.result(METHOD, &json!({"uri": "docs:///"})).await;
        assert_eq!(uris(&read["resources"]), uris(&listed));
        for child in read["resources"].as_array_mut().unwrap() {
            // The one thing that the extension adds.
            if child["mimeType"] == "inode/directory" {
                child.as_object_mut().unwrap().remove("mimeType");
            }
        }
        assert_eq!(read, json!({"resources": listed}));
        let empty = peer.result(METHOD, &json!({"uri": "docs:///empty"})).await;
        assert_eq!(empty, json!({"resources": []}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn folder_in_a_directory_gets_the_directory_type_by_default() {
    let typed = || {
        let inside = ResourceSet::new()
            .folder(Resource::new("docs:///plain", "plain"), ResourceSet::new())
            .folder(Resource::new("docs:///app", "app").of_type("x/app"), ResourceSet::new())
            .resource(Resource::new("docs:///file", "file"), |_, _| async { Ok("file") });
        server().resources(ResourceSet::new().folder(Resource::new("docs:///", "docs"), inside))
    };
    let types = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|child| child["mimeType"].clone()).collect()
    };
    everywhere(typed, async |peer| {
        let read = peer.result(METHOD, &json!({"uri": "docs:///"})).await;
        assert_eq!(
            types(&read["resources"]),
            [json!("inode/directory"), json!("x/app"), json!(null)]
        );
        let listed = peer.children("docs:///").await;
        assert_eq!(
            types(&listed),
            [json!(null), json!("x/app"), json!(null)],
            "a container type, or none"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn directory_read_of_a_file_or_missing_uri_is_an_error() {
    everywhere(docs, async |peer| {
        let file = peer.error(METHOD, &json!({"uri": "docs:///report"}), -32602).await;
        assert_eq!(file["data"], json!({"dev.candor/error": {"code": "not_listable"}}));
        let missing = json!({"uri": "docs:///nowhere"});
        assert_eq!(peer.error(METHOD, &missing, -32602).await["data"], missing);
        for params in [json!({}), json!({"uri": null}), json!({"uri": 7})] {
            let error = peer.error(METHOD, &params, -32602).await;
            let message = error["message"].as_str().unwrap();
            assert!(message.starts_with("Invalid params: /uri"), "{params}: {message}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn server_with_listable_resources_declares_both_extensions() {
    everywhere(docs, async |peer| {
        let capabilities = peer.server_capabilities().await;
        assert_eq!(
            capabilities["extensions"],
            json!({
                "dev.candor/resource": {"version": 1, "children": true},
                "io.modelcontextprotocol/skills": {"directoryRead": true},
            })
        );
        assert_eq!(capabilities["resources"], json!({"subscribe": true}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn directory_read_is_not_found_if_nothing_is_listable() {
    everywhere(
        || server().resources(memos()),
        async |peer| {
            let capabilities = peer.server_capabilities().await;
            assert_eq!(
                capabilities["extensions"],
                json!({"dev.candor/resource": {"version": 1, "children": false}})
            );
            for method in [METHOD, "skills/list", "skills/get"] {
                let error = peer.error(method, &json!({"uri": "memo:///today"}), -32601).await;
                assert_eq!(error["message"], format!("Method not found: {method}"));
            }
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn resource_methods_do_not_need_a_declared_extension() {
    for known in [json!({}), knowing()] {
        everywhere_knowing(&known, docs, async |peer| {
            assert_eq!(peer.metadata("docs:///").await["name"], "docs");
            let read = peer.result(METHOD, &json!({"uri": "docs:///old"})).await;
            assert_eq!(uris(&read["resources"]), ["docs:///old/report"]);
            assert_eq!(uris(&peer.children("docs:///old").await), ["docs:///old/report"]);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn server_with_the_skills_extension_lists_no_skills() {
    everywhere(docs, async |peer| {
        assert_eq!(peer.result("skills/list", &json!({})).await, json!({"skills": []}));
        let params = json!({"uri": "skill:///cook"});
        let error = peer.error("skills/get", &params, -32602).await;
        assert_eq!(error["data"], params);
    })
    .await;
}
