//! Many changes, few listeners, slow ones: memory stays bounded and the last change of everything is heard.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use candor_server::protocol::Era;
use candor_server::protocol::types::{Resource, ResourceTemplate};
use candor_server::resource::ResourceSet;
use candor_server::{Changes, Server};
use serde_json::json;

use crate::common::{Site, server};
use crate::everywhere;
use crate::lines::{Client, request};
use crate::peer::Peer;
use crate::watching::Sensors;

const URIS: usize = 1000;
const THREADS: usize = 4;
const CHANGES: usize = 10_000;

fn uri(number: usize) -> String {
    format!("sensor:{number}")
}

fn sensors() -> Server {
    let family = ResourceTemplate::new("sensor:{number}", "sensor");
    let set = ResourceSet::new().template(family, |_, _, _| async { Ok("21 °C") }).unwrap();
    server().resources((0..URIS).fold(set, |set, number| set.watched(uri(number))))
}

/// How often each resource has changed.
type Versions = Arc<Vec<AtomicU64>>;

/// Changes them for a second, from several threads and in different orders.
fn flood(changes: &Changes, versions: &Versions) -> Vec<thread::JoinHandle<()>> {
    let begin = |first: usize| {
        let (changes, versions) = (changes.clone(), versions.clone());
        move || {
            for step in 0..CHANGES / THREADS {
                let number = (first + step * (2 * first + 7)) % URIS;
                versions[number].fetch_add(1, Ordering::SeqCst);
                changes.resource(&uri(number));
                if step % 25 == 24 {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    };
    (0..THREADS).map(|first| thread::spawn(begin(first))).collect()
}

/// Reads slower than things change; gives how many messages there still were when all changes were over.
async fn hear_out(peer: &mut Peer<'_>) -> usize {
    let names: Vec<String> = (0..URIS).map(uri).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(peer.watch(&all).await.len(), URIS);

    let versions: Versions = Arc::new((0..URIS).map(|_| AtomicU64::new(0)).collect());
    let mut seen = vec![0; URIS];
    let flooding = flood(peer.engine.changes(), &versions);
    let mut backlog = 0;
    loop {
        let is_over = flooding.iter().all(thread::JoinHandle::is_finished);
        let Some(uri) = peer.may_hear(Duration::from_millis(300)).await else {
            if is_over {
                break;
            }
            continue;
        };
        let number: usize = uri.trim_start_matches("sensor:").parse().unwrap();
        seen[number] = versions[number].load(Ordering::SeqCst);
        backlog += usize::from(is_over);
        if !is_over {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    let changed: u64 = versions.iter().map(|version| version.load(Ordering::SeqCst)).sum();
    assert_eq!(changed, CHANGES as u64);
    // What was heard of after its last change was seen in its last version.
    let missed = (0..URIS).filter(|n| seen[*n] != versions[*n].load(Ordering::SeqCst)).count();
    assert_eq!(missed, 0, "resources whose last change nobody heard of");
    backlog
}

/// All that may wait: a batch on its way, what has changed since, and the queues of the transport. What the system holds for
/// a socket would come on top, so over HTTP it is in this process.
const MOST_WAITING: usize = 2 * URIS + 600;

#[tokio::test]
async fn slow_modern_http_subscriber_gets_every_last_change() {
    let site = Site::of(sensors()).in_process();
    let mut peer = Peer::over_http(&site, Era::Modern, &json!({})).await;
    let backlog = hear_out(&mut peer).await;
    assert!(backlog <= MOST_WAITING, "{backlog}");
}

#[tokio::test]
async fn slow_modern_stdio_subscriber_gets_every_last_change() {
    let engine = sensors().build().unwrap();
    let mut peer = Peer::over_stdio(&engine, Era::Modern, &json!({}), 1024).await;
    let backlog = hear_out(&mut peer).await;
    assert!(backlog <= MOST_WAITING, "{backlog}");
}

#[tokio::test]
async fn slow_legacy_stdio_subscriber_gets_every_last_change() {
    let engine = sensors().build().unwrap();
    let mut peer = Peer::over_stdio(&engine, Era::Legacy, &json!({}), 1024).await;
    let backlog = hear_out(&mut peer).await;
    assert!(backlog <= MOST_WAITING, "{backlog}");
}

#[tokio::test]
async fn slow_legacy_http_subscriber_gets_every_last_change() {
    let site = Site::of(sensors()).in_process();
    let mut peer = Peer::over_http(&site, Era::Legacy, &json!({})).await;
    let backlog = hear_out(&mut peer).await;
    assert!(backlog <= MOST_WAITING, "{backlog}");
}

/// Without threads: while the reader is away, one resource changes once and another all the time.
#[tokio::test(start_paused = true)]
async fn busy_resource_does_not_displace_the_change_of_another() {
    let resource = |name: &str| Resource::new(format!("sensor:{name}"), name);
    let set = ResourceSet::new()
        .resource(resource("rare"), |_, _| async { Ok("") })
        .resource(resource("busy"), |_, _| async { Ok("") })
        .watched("sensor:rare")
        .watched("sensor:busy");
    let site = Site::of(server().resources(set)).in_process();
    let mut peer = Peer::over_http(&site, Era::Legacy, &json!({})).await;
    peer.watch(&["sensor:rare", "sensor:busy"]).await;
    site.engine.changes().resource("sensor:rare");
    for _ in 0..2000 {
        site.engine.changes().resource("sensor:busy");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(peer.hears().await, "sensor:rare");
}

/// Subscriptions use memory, so they are bounded.
#[tokio::test(start_paused = true)]
async fn subscriptions_beyond_ten_thousand_resources_are_refused() {
    const MOST: u32 = 10_000;
    let sensors = Sensors::default();
    everywhere(
        || sensors.server(),
        async |peer| {
            if peer.era == Era::Modern {
                let uris: Vec<_> = (0..=MOST).map(|n| format!("sensor:{}", 2 * n)).collect();
                let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
                let error = peer.error("subscriptions/listen", &wanted, -32602).await;
                assert!(error["message"].as_str().unwrap().contains("at most 10000"), "{error}");
            }
        },
    )
    .await;
    let mut client = Client::initialized(sensors.server()).await;
    let subscribe =
        |n: u32| request(n, "resources/subscribe", &json!({"uri": format!("sensor:{}", 2 * n)}));
    for n in 0..MOST {
        assert_eq!(client.ask(&subscribe(n)).await["result"], json!({}));
    }
    let refused = client.ask(&subscribe(MOST)).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("unsubscribe"), "{refused}");
    let one = json!({"uri": "sensor:0"});
    client.ask(&request("u", "resources/unsubscribe", &one)).await;
    assert_eq!(client.ask(&subscribe(MOST)).await["result"], json!({}), "capacity is free again");
    client.end().await;
    sensors.are_left_alone().await;
}
