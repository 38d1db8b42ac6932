//! Types of other crates, which features of ours make parameters and results. These tests enable nothing of those crates themselves.

use std::collections::BTreeMap;

use candor::json;
use candor::prelude::*;
use candor::time::{IsoDate, Rfc3339};
use chrono::{DateTime, Days, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde_json::Value;
use time::Duration;
use url::Url;
use uuid::Uuid;

use crate::ways::both_ways;
use crate::{call, input, output};

#[tool(reads)]
async fn chrono_instant(value: DateTime<Utc>) -> DateTime<Utc> {
    value + Days::new(1)
}

#[tool(reads)]
async fn chrono_day(value: NaiveDate) -> NaiveDate {
    value + Days::new(1)
}

#[tool(reads)]
async fn time_instant(value: Rfc3339) -> Rfc3339 {
    Rfc3339(*value + Duration::DAY)
}

#[tool(reads)]
async fn time_day(value: IsoDate) -> IsoDate {
    value.next_day().unwrap().into()
}

#[tool(reads)]
async fn uuid_value(value: Uuid) -> Uuid {
    Uuid::from_u128(value.as_u128() + 1)
}

#[tool(reads)]
async fn url_value(value: Url) -> Result<Url, ToolError> {
    value.join("next").map_err(|error| ToolError::new(error.to_string()))
}

#[tool(reads)]
async fn decimal(value: Decimal) -> Decimal {
    value * Decimal::new(11, 1)
}

type ByPrice = BTreeMap<Decimal, u8>;

#[tool(reads)]
async fn decimal_keys(value: BTreeMap<Decimal, u8>, hidden: Option<ByPrice>) -> u8 {
    value.values().chain(hidden.iter().flat_map(BTreeMap::values)).sum()
}

#[tokio::test]
async fn decimal_keys_are_published_and_wrong_ones_refused_in_json_terms() {
    for client in both_ways(|| tools![decimal_keys]).await {
        let schema = input(&client, "decimal_keys").await;
        assert_eq!(
            schema["properties"]["value"]["patternProperties"],
            json!({r"^-?[0-9]{1,28}(\.[0-9]+)?$": {"type": "integer", "minimum": 0, "maximum": 255}})
        );
        let arguments = json!({"value": {"1.50": 1, "-7": 2}, "hidden": {"0.1": 3}});
        assert_eq!(call(&client, "decimal_keys", arguments).await.text(), "6");
        for (arguments, problem) in [
            (
                json!({"value": {"x": 1}}),
                "/value/x: expected a decimal number as a name, received \"x\"",
            ),
            (
                json!({"value": {}, "hidden": {"x": 1}}),
                "/hidden/x: expected a decimal number, received the string \"x\"",
            ),
        ] {
            let refused = client.call("decimal_keys", arguments).await;
            assert!(refused.text().ends_with(problem), "{}", refused.text());
        }
    }
}

#[tool(reads)]
async fn optional(value: Option<Uuid>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

#[tokio::test]
async fn types_of_other_crates_are_published_read_and_written() {
    let day = ("date", json!("2026-07-28"), json!("2026-07-29"), json!("2026-07-32"));
    let instant = (
        "date-time",
        json!("2026-07-28T12:00:00Z"),
        json!("2026-07-29T12:00:00Z"),
        json!("2026-07-28 12:00"),
    );
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    let tools = || {
        tools![
            chrono_instant,
            chrono_day,
            time_instant,
            time_day,
            uuid_value,
            url_value,
            decimal,
            optional
        ]
    };
    for client in both_ways(tools).await {
        for (tool, (format, given, returned, wrong)) in [
            ("chrono_instant", instant.clone()),
            ("time_instant", instant.clone()),
            ("chrono_day", day.clone()),
            ("time_day", day.clone()),
            (
                "uuid_value",
                (
                    "uuid",
                    json!(id),
                    json!("67e55044-10b1-426f-9247-bb680e5fe0c9"),
                    json!("67e55044-10b1"),
                ),
            ),
            (
                "url_value",
                (
                    "uri",
                    json!("https://example.org/a"),
                    json!("https://example.org/next"),
                    json!("no address"),
                ),
            ),
        ] {
            let parameter = &input(&client, tool).await["properties"]["value"];
            assert_eq!(
                (&parameter["type"], &parameter["format"]),
                (&json!("string"), &json!(format)),
                "{tool}"
            );
            let result = &output(&client, tool).await.unwrap()["properties"]["result"];
            assert_eq!(result["format"], format, "{tool}");
            let called = call(&client, tool, json!({"value": given})).await;
            assert_eq!(called.raw()["structuredContent"]["result"], returned, "{tool}");
            for wrong in [wrong, json!(7), Value::Null] {
                refuses(&client, tool, wrong).await;
            }
        }

        let called = call(&client, "decimal", json!({"value": "19.90"})).await;
        assert_eq!(called.raw()["structuredContent"]["result"], "21.890");
        refuses(&client, "decimal", json!("19,90")).await;

        assert_eq!(call(&client, "optional", json!({})).await.text(), "none");
        assert_eq!(call(&client, "optional", json!({"value": id})).await.text(), id);
    }
}

/// The answer names the parameter, so a model can correct it.
async fn refuses(client: &impl crate::Asks, tool: &str, value: Value) {
    let called = client.called(tool, &json!({"value": value})).await;
    assert!(called.is_error(), "{tool} accepts {value}: {}", called.text());
    assert!(called.text().contains("value"), "{tool}: {}", called.text());
}
