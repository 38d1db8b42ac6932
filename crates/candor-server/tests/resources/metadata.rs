//! `resources/metadata`: what a resource is, without its content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::protocol::types::{Resource, ResourceTemplate};
use candor_server::resource::ResourceSet;
use serde_json::{Value, json};

use crate::common::{greet, server};
use crate::{described, described_json, docs, everywhere, everywhere_knowing, knowing};

const METHOD: &str = "resources/metadata";

#[tokio::test(start_paused = true)]
async fn metadata_returns_all_members_of_a_resource() {
    let report = || {
        server().resources(ResourceSet::new().resource(described(), |_, _| async { Ok("hello") }))
    };
    everywhere_knowing(&knowing(), report, async |peer| {
        let result = peer.result(METHOD, &json!({"uri": "docs:///report"})).await;
        assert_eq!(result, json!({"resource": described_json()}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn metadata_does_not_read_the_resource() {
    let reads = Arc::new(AtomicUsize::new(0));
    let count = |reads: &Arc<AtomicUsize>| {
        let reads = reads.clone();
        move || reads.fetch_add(1, Ordering::SeqCst)
    };
    let counting = || {
        let (one, any) = (count(&reads), count(&reads));
        let resources = ResourceSet::new()
            .resource(described(), move |_, _| {
                one();
                async { Ok("hello") }
            })
            .template(ResourceTemplate::new("memo:///{day}", "a day"), move |_, _, _| {
                any();
                async { Ok("nothing") }
            });
        server().resources(resources.unwrap())
    };
    everywhere(counting, async |peer| {
        reads.store(0, Ordering::SeqCst);
        for uri in ["docs:///report", "memo:///monday"] {
            let resource = peer.metadata(uri).await;
            assert_eq!(resource["uri"], uri);
            assert!(resource.get("text").or(resource.get("blob")).is_none(), "{resource}");
            peer.list().await;
            assert_eq!(reads.load(Ordering::SeqCst), 0, "{uri}");
        }
        peer.read("docs:///report").await;
        assert_eq!(reads.load(Ordering::SeqCst), 1, "reads are counted");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn missing_resource_error_has_the_uri_in_both_eras() {
    everywhere(docs, async |peer| {
        let params = json!({"uri": "docs:///nowhere"});
        let error = peer.error(METHOD, &params, -32602).await;
        assert_eq!(error, json!({"code": -32602, "message": "Resource not found", "data": params}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn invalid_uri_is_refused_with_the_reason() {
    let long = format!("docs:///{}", "a".repeat(9000));
    let cases = [
        ("", "no scheme"),
        ("/etc/passwd", "no scheme"),
        ("report", "no scheme"),
        ("docs:///my report", "percent-encoded"),
        ("docs:///100%", "hexadecimal"),
        ("docs:///%zz", "hexadecimal"),
        (long.as_str(), "longer than 8192 bytes"),
    ];
    everywhere(docs, async |peer| {
        for (uri, why) in cases {
            for method in [METHOD, "resources/read", "resources/list", "resources/directory/read"] {
                let error = peer.error(method, &json!({"uri": uri}), -32602).await;
                let message = error["message"].as_str().unwrap();
                assert!(message.contains("/uri is not a URI") && message.contains(why), "{error}");
                assert_eq!(error["data"], json!({"dev.candor/error": {"code": "not_a_uri"}}));
            }
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn uri_must_be_a_string_and_present() {
    everywhere(docs, async |peer| {
        for params in [
            json!({}),
            json!({"uri": null}),
            json!({"uri": 7}),
            json!({"uri": ["docs:///report"]}),
            json!({"uri": {"uri": "docs:///report"}}),
        ] {
            let error = peer.error(METHOD, &params, -32602).await;
            let message = error["message"].as_str().unwrap();
            assert!(
                message.starts_with("Invalid params: ") && message.contains("uri"),
                "{params}: {message}"
            );
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn request_may_have_its_own_meta() {
    everywhere(docs, async |peer| {
        let params = json!({"uri": "docs:///report", "_meta": {"dev.example/trace": "abc"}});
        let with = peer.result(METHOD, &params).await;
        assert_eq!(with["resource"], peer.metadata("docs:///report").await);
        assert_eq!(with["resource"]["name"], "report");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn read_has_no_metadata_only_switch() {
    everywhere(docs, async |peer| {
        let params = json!({"uri": "docs:///report", "metadataOnly": true});
        let result = peer.result("resources/read", &params).await;
        assert_eq!(result["contents"][0]["text"], "hello");
        let resource = peer.metadata("docs:///").await;
        assert!(
            resource.get("resourceType").or(resource.get("isCollection")).is_none(),
            "{resource}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn empty_resource_set_still_has_the_resource_methods() {
    everywhere(
        || server().resources(ResourceSet::new()),
        async |peer| {
            let capabilities = peer.server_capabilities().await;
            assert_eq!(capabilities["resources"], json!({}));
            peer.error(METHOD, &json!({"uri": "docs:///report"}), -32602).await;
            assert_eq!(peer.list().await, json!([]));
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn server_without_resources_has_no_resource_methods() {
    everywhere(
        || server().tool(greet()),
        async |peer| {
            let capabilities = peer.server_capabilities().await;
            assert_eq!(capabilities.get("resources"), None);
            assert_eq!(capabilities.get("extensions"), None);
            for method in [
                METHOD,
                "resources/list",
                "resources/read",
                "resources/templates/list",
                "resources/directory/read",
                "resources/subscribe",
                "skills/list",
                "skills/get",
            ] {
                let error = peer.error(method, &json!({"uri": "docs:///report"}), -32601).await;
                assert_eq!(error["message"], format!("Method not found: {method}"));
            }
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn resource_set_states_the_capabilities_of_every_resource() {
    let set = || {
        let resources = ResourceSet::new()
            .folder(
                Resource::new("docs:///", "docs"),
                ResourceSet::new()
                    .resource(Resource::new("docs:///a", "a"), |_, _| async { Ok("a") }),
            )
            .resource(Resource::new("memo:///", "memos"), |_, _| async { Ok("memos") })
            .template(ResourceTemplate::new("memo:///{day}", "day"), |_, _, _| async { Ok("") })
            .unwrap()
            .watched("docs:///")
            .watched("memo:///today");
        server().resources(resources)
    };
    let can = |list: bool, subscribe: bool| json!({"list": list, "subscribe": subscribe});
    let expected: [(&str, Value); 5] = [
        ("docs:///", can(true, true)),
        ("docs:///a", can(false, false)),
        ("memo:///", can(false, false)),
        ("memo:///today", can(false, true)),
        ("memo:///monday", can(false, false)),
    ];
    everywhere(set, async |peer| {
        for (uri, capabilities) in &expected {
            assert_eq!(peer.metadata(uri).await["capabilities"], *capabilities, "{uri}");
        }
    })
    .await;
}
