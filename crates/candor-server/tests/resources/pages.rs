//! Lists that are longer than a page, and cursors that fit one list only.

use candor_server::protocol::types::{Resource, ResourceTemplate};
use candor_server::resource::ResourceSet;
use candor_server::{Secret, Server};
use serde_json::{Value, json};

use crate::common::{forgeries, server};
use crate::peer::Peer;
use crate::{everywhere, uris};

/// So many resources beneath a URI.
fn crowd(under: &str, count: usize) -> ResourceSet {
    (0..count).fold(ResourceSet::new(), |set, n| {
        let resource = Resource::new(format!("{under}{n}"), n.to_string());
        set.resource(resource, |_, _| async { Ok("x") })
    })
}

/// Two folders of more than two pages, and as many beside them.
fn crowded() -> Server {
    let crowds = crowd("top:///", 1001)
        .folder(Resource::new("a:///", "a"), crowd("a:///", 2001))
        .folder(Resource::new("b:///", "b"), crowd("b:///", 1001));
    server().resources(crowds)
}

/// All pages of a list: how long each is, and all URIs.
async fn walk(peer: &mut Peer<'_>, method: &str, uri: Option<&str>) -> (Vec<usize>, Vec<String>) {
    let (mut sizes, mut all) = (Vec::new(), Vec::new());
    let mut params = uri.map_or(json!({}), |uri| json!({"uri": uri}));
    loop {
        let page = peer.result(method, &params).await;
        let listed = uris(&page["resources"]);
        sizes.push(listed.len());
        all.extend(listed.into_iter().map(str::to_owned));
        assert!(sizes.len() < 10, "a list that ends");
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return (sizes, all),
        }
    }
}

fn numbered(under: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{under}{n}")).collect()
}

#[tokio::test(start_paused = true)]
async fn children_are_paged_and_listed_once() {
    everywhere(crowded, async |peer| {
        for method in ["resources/list", "resources/directory/read"] {
            let (sizes, all) = walk(peer, method, Some("a:///")).await;
            assert_eq!(sizes, [1000, 1000, 1]);
            assert_eq!(all, numbered("a:///", 2001));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn lists_of_several_providers_are_joined_in_order() {
    let three = || {
        server()
            .resources(crowd("one:///", 1500))
            .resources(crowd("none:///", 0))
            .resources(crowd("two:///", 500))
            .resources(crowd("three:///", 2))
    };
    everywhere(three, async |peer| {
        let (sizes, all) = walk(peer, "resources/list", None).await;
        assert_eq!(sizes, [1000, 1000, 2]);
        let expected =
            [numbered("one:///", 1500), numbered("two:///", 500), numbered("three:///", 2)];
        assert_eq!(all, expected.concat());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn page_that_ends_with_a_provider_continues_with_the_next() {
    let two = || server().resources(crowd("one:///", 1000)).resources(crowd("two:///", 1));
    everywhere(two, async |peer| {
        let (sizes, all) = walk(peer, "resources/list", None).await;
        assert_eq!(sizes, [1000, 1]);
        assert_eq!(all[1000], "two:///0");
    })
    .await;
}

async fn cursor(peer: &mut Peer<'_>, method: &str, params: &Value) -> String {
    let page = peer.result(method, params).await;
    page["nextCursor"].as_str().unwrap_or_else(|| panic!("a second page of {params}")).to_owned()
}

/// A cursor is refused for this list.
async fn refused(peer: &mut Peer<'_>, uri: Option<&str>, cursor: &str) {
    let mut params = json!({"cursor": cursor});
    if let Some(uri) = uri {
        params["uri"] = json!(uri);
    }
    let error = peer.error("resources/list", &params, -32602).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("Invalid cursor"), "{params}: {message}");
}

#[tokio::test(start_paused = true)]
async fn cursor_is_valid_only_for_its_own_list() {
    everywhere(crowded, async |peer| {
        let of_a = cursor(peer, "resources/list", &json!({"uri": "a:///"})).await;
        let of_b = cursor(peer, "resources/list", &json!({"uri": "b:///"})).await;
        let of_all = cursor(peer, "resources/list", &json!({})).await;
        for (uri, foreign) in [
            (Some("a:///"), &of_b),
            (Some("b:///"), &of_a),
            (Some("a:///"), &of_all),
            (None, &of_a),
            // Even where a resource has the name of the other kind of list.
            (Some("resources:"), &of_all),
        ] {
            refused(peer, uri, foreign).await;
        }
        // The two methods give the same children, so the same pages.
        let params = json!({"uri": "a:///", "cursor": of_a});
        let page = peer.result("resources/directory/read", &params).await;
        assert_eq!(page["resources"][0]["uri"], "a:///1000");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn cursor_of_another_method_is_refused() {
    let templates = || {
        let set = (0..1001).fold(crowd("a:///", 1001), |set, n| {
            let template = ResourceTemplate::new(format!("t{n}:///{{x}}"), n.to_string());
            set.template(template, |_, _, _| async { Ok("x") }).unwrap()
        });
        server().resources(ResourceSet::new().folder(Resource::new("a:///", "a"), set))
    };
    everywhere(templates, async |peer| {
        let of_templates = cursor(peer, "resources/templates/list", &json!({})).await;
        refused(peer, None, &of_templates).await;
        refused(peer, Some("a:///"), &of_templates).await;
        let of_children = cursor(peer, "resources/list", &json!({"uri": "a:///"})).await;
        let params = json!({"cursor": of_children});
        let error = peer.error("resources/templates/list", &params, -32602).await;
        assert!(error["message"].as_str().unwrap().starts_with("Invalid cursor"), "{error}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn forged_or_truncated_cursor_is_refused() {
    everywhere(crowded, async |peer| {
        let genuine = cursor(peer, "resources/list", &json!({"uri": "b:///"})).await;
        let mut useless = forgeries(&genuine);
        useless.extend((0..genuine.len()).step_by(7).map(|end| genuine[..end].to_owned()));
        useless.extend(["1000", "AAAA", "\u{0}", "null"].map(str::to_owned));
        useless.push(format!("{genuine}A"));
        for cursor in useless {
            refused(peer, Some("b:///"), &cursor).await;
        }
        for cursor in [json!(1000), json!({"after": "1000"})] {
            peer.error("resources/list", &json!({"uri": "b:///", "cursor": cursor}), -32602).await;
        }
        let params = json!({"uri": "b:///", "cursor": genuine});
        let page = peer.result("resources/list", &params).await;
        assert_eq!(uris(&page["resources"]), ["b:///1000"], "the genuine cursor is still valid");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn cursor_of_a_server_with_another_secret_is_refused() {
    let secret = |digits: &str| Secret::from_lines(&digits.repeat(32)).unwrap();
    let elsewhere = crowded().secret(secret("ab")).build().unwrap();
    let same = crowded().secret(secret("cd")).build().unwrap();
    let mut of_elsewhere =
        Peer::over_stdio(&elsewhere, candor_server::protocol::Era::Modern, &json!({}), 64 * 1024)
            .await;
    let mut of_same =
        Peer::over_stdio(&same, candor_server::protocol::Era::Legacy, &json!({}), 64 * 1024).await;
    let params = json!({"uri": "a:///"});
    let foreign = cursor(&mut of_elsewhere, "resources/list", &params).await;
    let shared = cursor(&mut of_same, "resources/list", &params).await;
    everywhere(
        || crowded().secret(secret("cd")),
        async |peer| {
            refused(peer, Some("a:///"), &foreign).await;
            let params = json!({"uri": "a:///", "cursor": shared});
            let page = peer.result("resources/list", &params).await;
            assert_eq!(
                page["resources"][0]["uri"], "a:///1000",
                "servers with one secret share their cursors"
            );
        },
    )
    .await;
}
