//! Whom a provider does not know a resource for has no way to it.

use candor_server::protocol::Principal;
use candor_server::protocol::types::Resource;
use candor_server::resource::{Contents, Listing, Offers, Page, Resources, WatchGuard};
use candor_server::tool::ToolError;
use candor_server::{Changes, Ctx};
use serde_json::{Value, json};

use crate::common::{Session, Site, modern, server};
use crate::lines::{Client, request};
use crate::uris;

/// A safe that only alice has, beside a door that everybody has.
struct House;

const DOOR: &str = "house:///door";
const SAFE: &str = "house:///safe";
const GOLD: &str = "house:///safe/gold";

impl House {
    fn has(who: &Principal, uri: &str) -> bool {
        uri == DOOR || (who.as_str() == "alice" && [SAFE, GOLD].contains(&uri))
    }
}

impl Resources for House {
    fn offers(&self) -> Offers {
        Offers { children: true, watching: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, who: &Principal) -> Result<Option<Resource>, ToolError> {
        let resource = Resource::new(uri, uri.rsplit('/').next().unwrap_or(uri)).watchable();
        let resource = if uri == SAFE { resource.listable() } else { resource };
        Ok(Self::has(who, uri).then_some(resource))
    }

    async fn list(&self, page: Page<'_>, who: &Principal) -> Result<Listing, ToolError> {
        let mut all = Vec::new();
        for uri in [DOOR, SAFE] {
            all.extend(self.metadata(uri, who).await?);
        }
        Ok(Listing::paged(all, page))
    }

    // What follows does not look at the principal: nobody gets here for what it does not have.

    async fn children(
        &self,
        _: &str,
        _: Page<'_>,
        _: &Principal,
    ) -> Result<Option<Listing>, ToolError> {
        Ok(Some(Listing::whole(vec![Resource::new(GOLD, "gold").watchable()])))
    }

    async fn read(&self, uri: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some(format!("inside {uri}").into()))
    }

    async fn watch(&self, _: &str, _: &Changes) -> Result<Option<WatchGuard>, ToolError> {
        Ok(Some(WatchGuard::told()))
    }
}

/// One of two who ask, in one of the eras.
struct Visitor<'a> {
    site: &'a Site,
    name: &'static str,
    session: Option<Session<'a>>,
}

impl<'a> Visitor<'a> {
    async fn both_eras(site: &'a Site, name: &'static str) -> [Self; 2] {
        let session = Some(Session::by(site, name).await);
        [Self { site, name, session }, Self { site, name, session: None }]
    }

    async fn ask(&self, method: &str, params: &Value) -> Value {
        match &self.session {
            Some(session) => session.request(method, params).await.json().await,
            None => self.site.send(modern(method, params).by(self.name)).await.json().await,
        }
    }
}

#[tokio::test]
async fn principal_with_access_can_list_describe_and_read() {
    let site = Site::guarded(server().resources(House));
    for alice in Visitor::both_eras(&site, "alice").await {
        let listed = alice.ask("resources/list", &json!({})).await;
        assert_eq!(uris(&listed["result"]["resources"]), [DOOR, SAFE]);
        let children = alice.ask("resources/list", &json!({"uri": SAFE})).await;
        assert_eq!(uris(&children["result"]["resources"]), [GOLD]);
        let gold = alice.ask("resources/metadata", &json!({"uri": GOLD})).await;
        assert_eq!(gold["result"]["resource"]["name"], "gold");
        let read = alice.ask("resources/read", &json!({"uri": GOLD})).await;
        assert_eq!(read["result"]["contents"][0]["text"], format!("inside {GOLD}"));
    }
}

#[tokio::test]
async fn resource_is_missing_for_principals_without_access() {
    let site = Site::guarded(server().resources(House));
    for bob in Visitor::both_eras(&site, "bob").await {
        let listed = bob.ask("resources/list", &json!({})).await;
        assert_eq!(uris(&listed["result"]["resources"]), [DOOR]);
        for method in
            ["resources/metadata", "resources/read", "resources/list", "resources/directory/read"]
        {
            let mut refused = Vec::new();
            for uri in [SAFE, GOLD, "house:///nothing"] {
                let mut answer = bob.ask(method, &json!({"uri": uri})).await;
                assert_eq!(answer["error"]["data"].take(), json!({"uri": uri}), "{answer}");
                refused.push(answer["error"].take());
            }
            assert_eq!(refused[0]["message"], "Resource not found");
            // The error does not distinguish hidden from missing resources.
            assert_eq!((&refused[0], &refused[1]), (&refused[2], &refused[2]), "{method}");
        }
        let read = bob.ask("resources/read", &json!({"uri": DOOR})).await;
        assert_eq!(read["result"]["contents"][0]["text"], format!("inside {DOOR}"));
    }
}

#[tokio::test]
async fn principal_without_access_cannot_subscribe() {
    let site = Site::guarded(server().resources(House));
    let [bob, _] = Visitor::both_eras(&site, "bob").await;
    let refused = bob.ask("resources/subscribe", &json!({"uri": GOLD})).await;
    assert_eq!(refused["error"]["message"], "Resource not found");
    let accepted = bob.ask("resources/subscribe", &json!({"uri": DOOR})).await;
    assert_eq!(accepted["result"], json!({}));

    let wanted = json!({"notifications": {"resourceSubscriptions": [GOLD, DOOR, SAFE]}});
    for (name, honoured) in [("bob", json!([DOOR])), ("alice", json!([GOLD, DOOR, SAFE]))] {
        let call = modern("subscriptions/listen", &wanted).by(name);
        let mut events = site.send(call).await.events();
        let said = events.message().await;
        assert_eq!(said["params"]["notifications"]["resourceSubscriptions"], honoured, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn resource_is_missing_over_stdio_without_access() {
    let mut tester = Client::initialized(server().resources(House)).await;
    for (id, method) in
        ["resources/metadata", "resources/read", "resources/subscribe"].into_iter().enumerate()
    {
        let refused = tester.ask(&request(id, method, &json!({"uri": SAFE}))).await;
        assert_eq!(refused["error"]["message"], "Resource not found", "{method}");
    }
    let read = tester.ask(&request(9, "resources/read", &json!({"uri": DOOR}))).await;
    assert_eq!(read["result"]["contents"][0]["text"], format!("inside {DOOR}"));
}
