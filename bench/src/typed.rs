//! Typed tools by themselves, without a server: what registering and checking cost.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use candor::prelude::*;
use candor::protocol::json::raw;
use candor::tool::{Tool, ToolFn};
use candor_schema::Schema;
use serde_json::Value;

use crate::message::{arguments, input_schema};

/// How many tools are registered.
const TOOLS: usize = 1_000;

/// How many values are checked for one figure.
const CHECKS: u32 = 200_000;

#[candor::args]
enum Units {
    Metric,
    Imperial,
}

#[candor::args]
struct Forecast {
    city: String,
    days: Vec<f64>,
    units: Units,
}

/// Answers with a forecast
#[tool(reads)]
async fn forecast(
    #[length(min = 1)] city: String,
    #[range(min = 1, max = 14)] days: u32,
    units: Option<Units>,
    #[default(false)] hourly: bool,
    #[optional] note: Option<String>,
) -> Forecast {
    let _ = (hourly, note);
    Forecast { city, days: vec![0.0; days as usize], units: units.unwrap_or(Units::Metric) }
}

/// Derives, compiles and indexes tools, no two of which have the same schema. In milliseconds.
pub fn register() -> Result<Value, candor::tool::RegistrationError> {
    let start = Instant::now();
    let tools = (0..TOOLS).map(|n| {
        let tool = forecast::tool().define(|definition| {
            definition.name = format!("forecast_{n}");
            let schema = definition.input_schema.get();
            let other = schema.replace("Parameter city", &format!("Where, for {n}"));
            definition.input_schema = serde_json::from_str(&other).unwrap_or_else(|_| raw(&()));
        });
        Arc::new(tool) as Arc<dyn Tool>
    });
    let set = ToolSet::new(tools)?;
    let ms = start.elapsed().as_secs_f64() * 1e3;
    Ok(json!({"ms": ms, "tools": set.len()}))
}

/// Finds out what a call does, from a table, again and again. In microseconds for one time.
#[must_use]
pub fn foresee() -> Value {
    let (table, arguments) = (crate::peers::candor::by_units(), arguments());
    let start = Instant::now();
    for _ in 0..CHECKS {
        assert!(black_box(&table).of(black_box(&arguments)).is_read_only());
    }
    json!({"us": start.elapsed().as_secs_f64() * 1e6 / f64::from(CHECKS)})
}

/// Checks five arguments against their schema, again and again. In microseconds for one time.
pub fn check() -> Result<Value, candor_schema::SchemaError> {
    let schema = Schema::compile(&input_schema("Where").to_string())?;
    let arguments = arguments();
    let start = Instant::now();
    for _ in 0..CHECKS {
        assert!(black_box(&*schema).check(black_box(&arguments)).is_ok());
    }
    Ok(json!({"us": start.elapsed().as_secs_f64() * 1e6 / f64::from(CHECKS)}))
}
