//! Several providers side by side: whose a URI is.

use std::sync::{Arc, Mutex};

use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceTemplate};
use candor_server::resource::{Completing, Contents, Offers, ResourceSet, Resources};
use candor_server::tool::ToolError;
use candor_server::{Changes, Ctx};
use serde_json::{Value, json};

use crate::common::server;
use crate::everywhere;

/// Has every URI that ends with one of its words, and notes what it was asked for.
#[derive(Clone)]
struct Shelf {
    prefix: &'static str,
    holds: &'static [&'static str],
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Resources for Shelf {
    fn prefix(&self) -> &str {
        self.prefix
    }

    fn offers(&self) -> Offers {
        Offers { completion: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        self.asked.lock().unwrap().push(self.prefix);
        let holds = self.holds.iter().any(|word| uri.ends_with(word));
        Ok(holds.then(|| Resource::new(uri, self.prefix).definite()))
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some(format!("from {:?}", self.prefix).into()))
    }

    async fn templates(&self, _: &Principal) -> Result<Vec<ResourceTemplate>, ToolError> {
        Ok(vec![ResourceTemplate::new(format!("{}{{word}}", self.prefix), self.prefix)])
    }

    async fn complete(
        &self,
        asked: &Completing<'_>,
        _: &Principal,
    ) -> Result<Option<Vec<String>>, ToolError> {
        let own = asked.template.strip_prefix(self.prefix) == Some("{word}");
        let fitting = self.holds.iter().filter(|word| word.starts_with(asked.typed));
        Ok(own.then(|| fitting.map(ToString::to_string).collect()))
    }
}

type Asked = Arc<Mutex<Vec<&'static str>>>;

fn shelf(asked: &Asked, prefix: &'static str, holds: &'static [&'static str]) -> Shelf {
    Shelf { prefix, holds, asked: asked.clone() }
}

#[tokio::test(start_paused = true)]
async fn provider_with_the_longest_prefix_is_asked_first() {
    let asked = Asked::default();
    let shelves = || {
        server()
            .resources(shelf(&asked, "file:", &["one", "two", "three"]))
            .resources(shelf(&asked, "file:///a/b", &["one"]))
            .resources(shelf(&asked, "file:///a", &["one", "two"]))
    };
    let cases: [(&str, &str, &[&str]); 5] = [
        ("file:///a/b/one", "file:///a/b", &["file:///a/b"]),
        ("file:///a/b/two", "file:///a", &["file:///a/b", "file:///a"]),
        ("file:///a/b/three", "file:", &["file:///a/b", "file:///a", "file:"]),
        ("file:///a/one", "file:///a", &["file:///a"]),
        ("file:///c/one", "file:", &["file:"]),
    ];
    everywhere(shelves, async |peer| {
        for (uri, owner, asked_for) in cases {
            asked.lock().unwrap().clear();
            assert_eq!(peer.metadata(uri).await["name"], owner, "{uri}");
            assert_eq!(*asked.lock().unwrap(), asked_for, "{uri}");
            assert_eq!(peer.read(uri).await[0]["text"], format!("from {owner:?}"));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn prefix_matches_whole_segments_only() {
    let asked = Asked::default();
    let shelves = || {
        server().resources(shelf(&asked, "file:///a", &["x", "a"])).resources(shelf(
            &asked,
            "db:",
            &["x"],
        ))
    };
    everywhere(shelves, async |peer| {
        for uri in ["file:///a", "file:///a/x", "file:///a?x", "file:///a#x", "db:x", "db:///x"] {
            peer.metadata(uri).await;
        }
        asked.lock().unwrap().clear();
        for uri in ["file:///abx", "file:///ab/x", "file:///", "file:///b/a", "dbx:x"] {
            peer.error("resources/metadata", &json!({"uri": uri}), -32602).await;
        }
        assert_eq!(*asked.lock().unwrap(), [""; 0], "no provider is asked for a foreign URI");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn first_of_two_equal_prefixes_is_asked_first() {
    let one = |text: &'static str, uri: &str| {
        ResourceSet::new().resource(Resource::new(uri, text), move |_, _| async move { Ok(text) })
    };
    let sets = || {
        server()
            .resources(one("first", "memo:///a"))
            .resources(one("second", "memo:///a"))
            .resources(one("third", "memo:///b"))
    };
    everywhere(sets, async |peer| {
        assert_eq!(peer.read("memo:///a").await[0]["text"], "first");
        assert_eq!(peer.read("memo:///b").await[0]["text"], "third");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn templates_of_all_providers_are_listed_in_order() {
    let asked = Asked::default();
    let shelves = || {
        server().resources(shelf(&asked, "b:", &[])).resources(ResourceSet::new()).resources(shelf(
            &asked,
            "a:",
            &[],
        ))
    };
    everywhere(shelves, async |peer| {
        let result = peer.result("resources/templates/list", &json!({})).await;
        let expected = json!([
            {"uriTemplate": "b:{word}", "name": "b:"},
            {"uriTemplate": "a:{word}", "name": "a:"},
        ]);
        assert_eq!(result, json!({"resourceTemplates": expected}));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn template_variable_is_completed_by_its_provider() {
    let asked = Asked::default();
    let shelves = || {
        server().resources(shelf(&asked, "a:", &["one"])).resources(shelf(
            &asked,
            "b:",
            &["one", "other", "two"],
        ))
    };
    let completing = |template: &str| {
        json!({
            "ref": {"type": "ref/resource", "uri": template},
            "argument": {"name": "word", "value": "o"},
        })
    };
    everywhere(shelves, async |peer| {
        assert_eq!(peer.server_capabilities().await["completions"], json!({}));
        for (template, words) in
            [("a:{word}", vec!["one"]), ("b:{word}", vec!["one", "other"]), ("c:{word}", vec![])]
        {
            let result = peer.result("completion/complete", &completing(template)).await;
            assert_eq!(result["completion"]["values"], json!(words), "{template}");
        }
    })
    .await;
}

/// Says by itself that its list has changed.
#[derive(Clone, Default)]
struct Inbox(Arc<Mutex<Option<Changes>>>);

impl Resources for Inbox {
    fn offers(&self) -> Offers {
        Offers { changes: true, ..Offers::default() }
    }

    fn attach(&self, changes: &Changes) {
        *self.0.lock().unwrap() = Some(changes.clone());
    }

    async fn metadata(&self, _: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        Ok(None)
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn provider_can_announce_changes_of_its_list() {
    let inbox = Inbox::default();
    everywhere(
        || server().resources(inbox.clone()),
        async |peer| {
            let capabilities = peer.server_capabilities().await;
            assert_eq!(capabilities["resources"], json!({"listChanged": true}));
            peer.listen_to_lists().await;
            let changes = inbox.0.lock().unwrap().clone().unwrap();
            changes.resources();
            let said: Value = peer.next().await;
            assert_eq!(said["method"], "notifications/resources/list_changed");
        },
    )
    .await;
}
