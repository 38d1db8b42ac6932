//! Watching resources: one by one in sessions, together in a modern subscription.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use candor_server::protocol::types::Resource;
use candor_server::protocol::{Era, Principal};
use candor_server::resource::{Contents, Offers, ResourceSet, Resources, WatchGuard};
use candor_server::tool::ToolError;
use candor_server::{Changes, Ctx, Server};
use serde_json::json;

use crate::common::{Session, Site, server, soon};
use crate::everywhere;
use crate::lines::{Client, request};

/// Sensors of which the even ones can be watched. Counts who does.
#[derive(Clone, Default)]
pub(crate) struct Sensors {
    watched: Arc<AtomicUsize>,
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sensors {
    pub(crate) fn server(&self) -> Server {
        server().resources(self.clone())
    }

    pub(crate) fn watched(&self) -> usize {
        self.watched.load(Ordering::SeqCst)
    }

    /// Nobody watches any more, or will not in a moment: requests and sessions take one to end.
    pub(crate) async fn are_left_alone(&self) {
        soon(async {
            while self.watched() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

impl Resources for Sensors {
    fn offers(&self) -> Offers {
        Offers { watching: true, ..Offers::default() }
    }

    async fn metadata(&self, uri: &str, _: &Principal) -> Result<Option<Resource>, ToolError> {
        let number: Option<u32> = uri.strip_prefix("sensor:").and_then(|n| n.parse().ok());
        Ok(number.map(|number| {
            let sensor = Resource::new(uri, format!("sensor {number}")).definite();
            if number % 2 == 0 { sensor.watchable() } else { sensor }
        }))
    }

    async fn read(&self, _: &str, _: Ctx) -> Result<Option<Contents>, ToolError> {
        Ok(Some("21 °C".into()))
    }

    async fn watch(&self, uri: &str, _: &Changes) -> Result<Option<WatchGuard>, ToolError> {
        if uri == "sensor:40404" {
            std::future::pending::<()>().await;
        }
        self.watched.fetch_add(1, Ordering::SeqCst);
        Ok(Some(WatchGuard::while_held(Guard(self.watched.clone()))))
    }
}

#[tokio::test(start_paused = true)]
async fn watcher_receives_changes_of_its_resources_only() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            assert_eq!(peer.metadata("sensor:2").await["capabilities"]["subscribe"], true);
            assert_eq!(peer.watch(&["sensor:2", "sensor:4"]).await, ["sensor:2", "sensor:4"]);
            let changes = peer.engine.changes();
            for uri in ["sensor:6", "sensor:4", "sensor:2", "sensor:20"] {
                changes.resource(uri);
            }
            assert_eq!(peer.hears().await, "sensor:4");
            assert_eq!(peer.hears().await, "sensor:2");
            peer.hears_nothing().await;
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_watchable_resources_are_honored() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            assert_eq!(peer.server_capabilities().await["resources"], json!({"subscribe": true}));
            let wanted = ["sensor:1", "sensor:2", "sensor:none", "no uri", "sensor:4"];
            assert_eq!(peer.watch(&wanted).await, ["sensor:2", "sensor:4"]);
            assert_eq!(sensors.watched(), 2);
            for uri in wanted {
                peer.engine.changes().resource(uri);
            }
            assert_eq!(peer.hears().await, "sensor:2");
            assert_eq!(peer.hears().await, "sensor:4");
            peer.hears_nothing().await;
            peer.hang_up().await;
            sensors.are_left_alone().await;
        },
    )
    .await;
}

/// Ten thousand per stream, in a thousand streams, would be millions.
#[tokio::test(start_paused = true)]
async fn watches_beyond_the_server_capacity_are_not_honored() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server().limits(|limits| limits.watched = 2),
        async |peer| {
            let wanted = ["sensor:2", "sensor:4", "sensor:6"];
            assert_eq!(peer.watch(&wanted).await, wanted[..2]);
            if peer.era == Era::Legacy {
                assert_eq!(
                    peer.watch(&wanted).await,
                    wanted[..2],
                    "a second time needs no more capacity"
                );
            }
            assert_eq!(sensors.watched(), 2);
            peer.unwatch(&wanted[..2]).await;
            sensors.are_left_alone().await;
            assert_eq!(peer.watch(&wanted[2..]).await, wanted[2..], "capacity is free again");
            peer.hang_up().await;
            sensors.are_left_alone().await;
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn refused_subscription_states_the_reason() {
    let sensors = Sensors::default();
    let not_watchable = "This resource cannot be watched: its capabilities.subscribe is not true";
    everywhere(
        || sensors.server(),
        async |peer| {
            if peer.era == Era::Modern {
                // The modern era has no such method. It refuses by omission.
                peer.error("resources/subscribe", &json!({"uri": "sensor:2"}), -32601).await;
                return;
            }
            let coded = json!({"dev.candor/error": {"code": "not_watchable"}});
            let missing = json!({"uri": "sensor:none"});
            let cases = [
                ("sensor:1", -32602, not_watchable, coded),
                ("sensor:none", peer.not_found(), "Resource not found", missing),
            ];
            for (uri, code, message, data) in cases {
                let error = peer.error("resources/subscribe", &json!({"uri": uri}), code).await;
                assert_eq!(error, json!({"code": code, "message": message, "data": data}));
            }
            let error = peer.error("resources/subscribe", &json!({"uri": "no uri"}), -32602).await;
            assert!(error["message"].as_str().unwrap().contains("is not a URI"), "{error}");
        },
    )
    .await;
    assert_eq!(sensors.watched(), 0);
}

#[tokio::test(start_paused = true)]
async fn subscribe_is_not_found_if_nothing_is_watchable() {
    let fixed = || {
        let memo = Resource::new("memo:///a", "a").watchable();
        // The set does not watch it, although the resource claims it.
        server().resources(ResourceSet::new().resource(memo, |_, _| async { Ok("a") }))
    };
    everywhere(fixed, async |peer| {
        assert_eq!(peer.server_capabilities().await["resources"], json!({}));
        assert_eq!(peer.metadata("memo:///a").await["capabilities"]["subscribe"], false);
        for method in ["resources/subscribe", "resources/unsubscribe"] {
            peer.error(method, &json!({"uri": "memo:///a"}), -32601).await;
        }
        let wanted = json!({"notifications": {"resourceSubscriptions": ["memo:///a"]}});
        peer.error("subscriptions/listen", &wanted, -32601).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn provider_watch_ends_with_the_last_subscription() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            peer.watch(&["sensor:2", "sensor:4"]).await;
            assert_eq!(sensors.watched(), 2);
            peer.unwatch(&["sensor:2", "sensor:4"]).await;
            sensors.are_left_alone().await;
            if peer.era == Era::Legacy {
                peer.engine.changes().resource("sensor:2");
                peer.hears_nothing().await;
            }
            peer.watch(&["sensor:4"]).await;
            assert_eq!(sensors.watched(), 1, "the resource can be watched again");
            peer.engine.changes().resource("sensor:4");
            assert_eq!(peer.hears().await, "sensor:4");
            peer.unwatch(&["sensor:4"]).await;
            sensors.are_left_alone().await;
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn provider_watch_ends_when_the_client_disconnects() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            peer.watch(&["sensor:2", "sensor:4", "sensor:6"]).await;
            assert_eq!(sensors.watched(), 3);
            peer.hang_up().await;
            sensors.are_left_alone().await;
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn unsubscribe_leaves_other_resources_watched() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            if peer.era == Era::Modern {
                return;
            }
            peer.watch(&["sensor:2", "sensor:4"]).await;
            peer.unwatch(&["sensor:2", "sensor:8", "sensor:none"]).await;
            assert_eq!(sensors.watched(), 1);
            peer.engine.changes().resource("sensor:2");
            peer.engine.changes().resource("sensor:4");
            assert_eq!(peer.hears().await, "sensor:4");
            peer.hears_nothing().await;
            peer.hang_up().await;
            sensors.are_left_alone().await;
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn duplicate_subscription_is_watched_once() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            if peer.era == Era::Modern {
                return;
            }
            peer.watch(&["sensor:2", "sensor:2"]).await;
            assert_eq!(sensors.watched(), 1);
            peer.engine.changes().resource("sensor:2");
            assert_eq!(peer.hears().await, "sensor:2");
            peer.hears_nothing().await;
            peer.unwatch(&["sensor:2"]).await;
            assert_eq!(sensors.watched(), 0);
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn server_stop_ends_its_watches() {
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            if peer.era == Era::Legacy {
                return;
            }
            peer.watch(&["sensor:2"]).await;
            assert_eq!(sensors.watched(), 1);
            peer.engine.stop();
            assert_eq!(peer.next().await["result"]["resultType"], "complete");
            sensors.are_left_alone().await;
        },
    )
    .await;
}

/// A session expires by the system clock, so this test waits.
#[tokio::test]
async fn expired_session_stops_watching_when_another_opens() {
    const IDLE: Duration = Duration::from_millis(300);
    let sensors = Sensors::default();
    let site = Site::of(sensors.server().limits(|l| l.session_idle = IDLE));
    let forgotten = Session::open(&site, "2025-11-25").await;
    let params = json!({"uri": "sensor:2"});
    forgotten.request("resources/subscribe", &params).await.result().await;
    assert_eq!(sensors.watched(), 1);
    tokio::time::sleep(2 * IDLE).await;
    Session::open(&site, "2025-11-25").await;
    sensors.are_left_alone().await;
}

/// A slow provider delays only the request that asked for the watch.
#[tokio::test(start_paused = true)]
async fn slow_provider_watch_does_not_block_the_connection() {
    let sensors = Sensors::default();
    let mut client = Client::initialized(sensors.server()).await;
    client.send(&request(1, "resources/subscribe", &json!({"uri": "sensor:40404"}))).await;
    let answer = client.ask(&request(2, "ping", &json!({}))).await;
    assert_eq!(answer["result"], json!({}));
}
