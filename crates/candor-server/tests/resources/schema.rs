//! The shapes of messages, as types: what peers of every age send is understood, and nothing is lost.

use candor_server::protocol::json::{Decode, raw};
use candor_server::protocol::types::{
    ListResourcesParams, Resource, ResourceContents, ResourceLink, ResourceMetadataResult,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{described, described_json};

fn decoded<T: Decode>(value: &Value) -> Result<T, String> {
    T::decode((&*raw(value)).into()).map_err(|problem| problem.to_string())
}

/// Decoding and writing gives back the same.
fn survives<T: Decode + Serialize>(value: &Value) {
    let message: T = decoded(value).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap(), *value);
}

#[test]
fn resource_round_trips_with_all_members() {
    assert_eq!(serde_json::to_value(described()).unwrap(), described_json());
    survives::<Resource>(&described_json());
    survives::<Resource>(&json!({"uri": "docs:///a", "name": "a"}));
    assert!(decoded::<Resource>(&json!({"name": "a"})).unwrap_err().contains("uri"));
    assert!(decoded::<Resource>(&json!({"uri": 7, "name": "a"})).unwrap_err().contains("uri"));
}

#[test]
fn contents_round_trip_as_a_resource_with_text_or_blob() {
    for (member, value) in [("text", "hello"), ("blob", "aGVsbG8=")] {
        let mut content = described_json();
        content[member] = json!(value);
        survives::<ResourceContents>(&content);
    }
}

#[test]
fn contents_without_name_and_capabilities_round_trip() {
    let old = json!({"uri": "docs:///a", "mimeType": "text/plain", "text": "a"});
    let content: ResourceContents = decoded(&old).unwrap();
    assert_eq!((content.name, content.capabilities.is_none()), (None, true));
    survives::<ResourceContents>(&old);
}

#[test]
fn absent_partial_and_unknown_capabilities_are_decoded() {
    let resource = |capabilities: &Value| json!({"uri": "docs:///a", "name": "a", "capabilities": capabilities});
    for (capabilities, listable, watchable) in [
        (json!({}), false, false),
        (json!({"list": true}), true, false),
        (json!({"subscribe": true}), false, true),
        (json!({"list": false, "subscribe": true, "seek": true}), false, true),
        (json!({"list": true, "stream": {"chunks": 7}}), true, false),
    ] {
        let value = resource(&capabilities);
        let decoded: Resource = decoded(&value).unwrap();
        assert_eq!((decoded.is_listable(), decoded.is_watchable()), (listable, watchable));
        survives::<Resource>(&value);
    }
    let silent: Resource = decoded(&json!({"uri": "docs:///a", "name": "a"})).unwrap();
    assert!(!silent.is_listable() && !silent.is_watchable(), "absent means no");
}

#[test]
fn unknown_members_are_preserved() {
    let mut value = described_json();
    value["checksum"] = json!({"sha256": "abc"});
    survives::<Resource>(&value);
    value["text"] = json!("hello");
    survives::<ResourceContents>(&value);
    let link = json!({"uri": "docs:///a", "name": "a", "capabilities": {"list": true}, "x": 1});
    survives::<ResourceLink>(&link);
}

#[test]
fn requests_and_results_round_trip() {
    survives::<ResourceMetadataResult>(&json!({"resource": described_json(), "_meta": {"a": 1}}));
    for params in [json!({}), json!({"uri": "docs:///"}), json!({"uri": "docs:///", "cursor": "c"})]
    {
        survives::<ListResourcesParams>(&params);
    }
    assert!(decoded::<ListResourcesParams>(&json!({"uri": 7})).unwrap_err().contains("uri"));
}
