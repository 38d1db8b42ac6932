//! Content is sent as it is and has no schema: clients know it.

use std::collections::BTreeMap;
use std::sync::Arc;

use candor::json;
use candor::prelude::*;
use candor::protocol::json::Object;
use candor::protocol::types::{
    AudioContent, CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent,
};
use candor::tool::{IntoOutput, OutputSchema};
use serde_json::Value;

use crate::ways::both_ways;
use crate::{Tools, call, output};

fn image() -> ImageContent {
    ImageContent::new("aQ==", "image/png")
}

fn link() -> ResourceLink {
    ResourceLink::new("file:///a", "a")
}

fn embedded() -> EmbeddedResource {
    let mut contents = ResourceContents::new("file:///a");
    contents.text = Some("a".to_owned());
    EmbeddedResource::new(contents)
}

macro_rules! content_tools {
    ($($name:ident: $type:ty = $value:expr => $blocks:expr;)*) => {
        $(
            #[tool(reads)]
            fn $name() -> $type {
                $value
            }
        )*

        fn tools() -> Tools {
            tools![$($name),*]
        }

        fn expected() -> Vec<(&'static str, Value)> {
            vec![$((stringify!($name), $blocks)),*]
        }
    };
}

fn t(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn i() -> Value {
    json!({"type": "image", "data": "aQ==", "mimeType": "image/png"})
}

fn map<T>(value: T) -> BTreeMap<String, T> {
    BTreeMap::from([("key".to_owned(), value)])
}

content_tools! {
    any: Content = Content::text("a") => json!([t("a")]);
    text: TextContent = TextContent::new("a") => json!([t("a")]);
    picture: ImageContent = image() => json!([i()]);
    sound: AudioContent = AudioContent::new("aQ==", "audio/wav")
        => json!([{"type": "audio", "data": "aQ==", "mimeType": "audio/wav"}]);
    linked: ResourceLink = link() => json!([{"type": "resource_link", "uri": "file:///a", "name": "a"}]);
    resource: EmbeddedResource = embedded()
        => json!([{"type": "resource", "resource": {"uri": "file:///a", "text": "a"}}]);

    picture_of_bytes: Content = Content::image(b"i", "image/png") => json!([i()]);
    sound_of_bytes: Content = Content::audio(vec![0x69_u8], "audio/wav")
        => json!([{"type": "audio", "data": "aQ==", "mimeType": "audio/wav"}]);
    resource_of_bytes: Content = Content::blob("file:///a.pdf", [0x69_u8], "application/pdf")
        => json!([{"type": "resource", "resource": {
            "uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "aQ=="
        }}]);

    list: Vec<Content> = vec![Content::text("a"), image().into()] => json!([t("a"), i()]);
    images: Vec<ImageContent> = vec![image(), image()] => json!([i(), i()]);
    empty: Vec<TextContent> = Vec::new() => json!([t("[]")]);
    array: [TextContent; 2] = [TextContent::new("a"), TextContent::new("b")] => json!([t("a"), t("b")]);
    some: Option<ImageContent> = Some(image()) => json!([i()]);
    none: Option<Content> = None => json!([t("null")]);
    shared: Arc<Vec<Content>> = Arc::new(vec![image().into()]) => json!([i()]);
    boxed: Box<ImageContent> = Box::new(image()) => json!([i()]);
    pair: (TextContent, ImageContent) = (TextContent::new("a"), image()) => json!([t("a"), i()]);
    triple: (TextContent, Option<ImageContent>, Vec<Content>) = (TextContent::new("a"), None, vec![image().into()])
        => json!([t("a"), i()]);
    mapped: BTreeMap<String, TextContent> = map(TextContent::new("a")) => json!([t("a")]);
    fallible: Result<ImageContent, ToolError> = Ok(image()) => json!([i()]);
    fallible_list: Result<Vec<Content>, String> = Ok(vec![image().into()]) => json!([i()]);
    nested: Option<Vec<Option<ImageContent>>> = Some(vec![None, Some(image())]) => json!([i()]);
    whole: CallToolResult = CallToolResult::new([Content::text("a")]) => json!([t("a")]);
    whole_or_not: Option<CallToolResult> = Some(CallToolResult::new([Content::text("a")])) => json!([t("a")]);
    nothing_whole: Option<CallToolResult> = None => json!([t("null")]);
    fallible_whole: Result<CallToolResult, ToolError> = Ok(CallToolResult::new([image().into()])) => json!([i()]);
    by_hand: Output = Output::text("a") => json!([t("a")]);
}

#[tokio::test]
async fn content_is_sent_in_its_order_and_has_no_schema() {
    for client in both_ways(tools).await {
        for (tool, blocks) in expected() {
            assert_eq!(output(&client, tool).await, None, "{tool}");
            let called = call(&client, tool, json!({})).await;
            assert_eq!(called.raw()["content"], blocks, "{tool}");
            assert_eq!(called.structured(), None, "{tool}");
            assert!(called.raw().get("isError").is_none(), "{tool}");
        }
    }
}

#[tool(reads)]
fn own_result(fails: bool) -> CallToolResult {
    let mut result = CallToolResult::new([Content::text("a"), image().into()]);
    result.is_error = Some(fails);
    result.structured_content = Some(candor::protocol::json::raw(&json!({"x": 1})));
    result.meta = Some(Object::new().with("org.example/a", &1));
    result.extra.set("org.example/more", candor::protocol::json::raw(&json!([true])));
    result
}

#[tokio::test]
async fn whole_result_passes_unchanged() {
    for client in both_ways(|| tools![own_result]).await {
        for fails in [false, true] {
            let called = client.call("own_result", json!({"fails": fails})).await;
            let raw = called.raw();
            assert_eq!(raw["content"], json!([t("a"), i()]));
            assert_eq!(raw["isError"], json!(fails));
            assert_eq!(raw["structuredContent"], json!({"x": 1}));
            assert_eq!(raw["_meta"]["org.example/a"], 1);
            assert_eq!(raw["org.example/more"], json!([true]));
        }
    }
}

// ---- content for people, and a value for programs beside it

#[candor::args]
struct Size {
    width: u32,
}

#[tool(reads)]
fn captioned() -> (String, Size) {
    ("A picture".to_owned(), Size { width: 7 })
}

#[tool(reads)]
fn measured() -> (ImageContent, Size) {
    (image(), Size { width: 7 })
}

#[tool(reads)]
async fn measured_list() -> Result<(Vec<Content>, Size), ToolError> {
    Ok((vec![Content::text("a"), image().into()], Size { width: 7 }))
}

#[tool(reads)]
fn counted() -> (ImageContent, u32) {
    (image(), 7)
}

#[tool(reads)]
fn described() -> (&'static str, Value) {
    ("Something", json!({"width": 7}))
}

#[tool(reads)]
fn two_scalars() -> (String, u32) {
    ("seven".to_owned(), 7)
}

#[tool(reads)]
fn unknown_scalar() -> (&'static str, Value) {
    ("seven", json!(7))
}

#[tokio::test]
async fn pair_returns_content_and_a_structured_value() {
    let width = json!({"width": 7});
    let tools = || {
        tools![captioned, measured, measured_list, counted, described, two_scalars, unknown_scalar]
    };
    for client in both_ways(tools).await {
        for (tool, blocks, structured) in [
            ("captioned", json!([t("A picture")]), &width),
            ("measured", json!([i()]), &width),
            ("measured_list", json!([t("a"), i()]), &width),
            ("counted", json!([i()]), &json!({"result": 7})),
            ("described", json!([t("Something")]), &width),
            ("two_scalars", json!([t("seven"), t("7")]), &json!({"result": ["seven", 7]})),
            ("unknown_scalar", json!([t("seven"), t("7")]), &json!({"result": ["seven", 7]})),
        ] {
            let called = call(&client, tool, json!({})).await;
            assert_eq!(called.raw()["content"], blocks, "{tool}");
            assert_eq!(called.structured(), Some(structured), "{tool}");
        }
        for tool in ["captioned", "measured", "measured_list"] {
            let schema = output(&client, tool).await.unwrap();
            assert_eq!(schema["required"], json!(["width"]), "{tool}");
        }
        assert_eq!(output(&client, "described").await, None, "a dynamic value has no schema");
        let schema = output(&client, "two_scalars").await.unwrap();
        assert_eq!(schema["properties"]["result"]["type"], "array");
    }
}

// ---- a type that says itself how it is sent

struct Temperature(f64);

impl IntoOutput for Temperature {
    fn schema() -> Option<OutputSchema> {
        let schema = json!({
            "type": "object",
            "properties": {"celsius": {"type": "number"}},
            "required": ["celsius"]
        });
        Some(OutputSchema { schema, boxed: false })
    }

    fn into_output(self) -> Result<Output, ToolError> {
        if self.0 < -273.15 {
            return Err(ToolError::new("Nothing is that cold"));
        }
        let mut output = Output::text(format!("{} °C", self.0));
        output.structured = Some(json!({"celsius": self.0}));
        Ok(output)
    }
}

#[tool(reads)]
fn temperature(celsius: f64) -> Temperature {
    Temperature(celsius)
}

#[tokio::test]
async fn into_output_decides_how_a_type_is_sent() {
    for client in both_ways(|| tools![temperature]).await {
        assert_eq!(output(&client, "temperature").await, Temperature::schema().map(|s| s.schema));
        let called = call(&client, "temperature", json!({"celsius": 7.5})).await;
        assert_eq!(called.text(), "7.5 °C");
        assert_eq!(called.structured(), Some(&json!({"celsius": 7.5})));
        let refused = client.call("temperature", json!({"celsius": -300.0})).await;
        assert_eq!(refused.text(), "Nothing is that cold");
    }
}
