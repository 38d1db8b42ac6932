//! What tools say about each other is checked when they are registered.

use std::sync::Arc;

use candor_server::tool::{JsonTool, Tool, ToolSet};
use serde_json::Value;

use crate::log::Log;
use crate::{Counter, deletes, of, reads, server};

fn tool(name: &str, properties: &[&str]) -> JsonTool {
    Counter::default().tool(name, &of(properties)).annotations(deletes())
}

fn look(name: &str, properties: &[&str]) -> JsonTool {
    tool(name, properties).annotations(reads())
}

fn refused(tools: Vec<JsonTool>) -> String {
    let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>);
    ToolSet::new(tools).unwrap_err().to_string()
}

#[test]
fn tool_references_must_exist_and_match() {
    for (tools, said) in [
        (
            vec![tool("delete_it", &[]).undo("restore_it")],
            r#"tool "delete_it": its undo tool "restore_it" is not among the tools"#,
        ),
        (
            vec![tool("delete_it", &[]).instead("void_it")],
            r#"tool "delete_it": its instead tool "void_it" is not among the tools"#,
        ),
        (
            vec![tool("delete_it", &[]).previewed_by("show_it")],
            r#"tool "delete_it": its preview tool "show_it" is not among the tools"#,
        ),
        (
            vec![tool("delete_it", &["a"]).previewed_by("show_it"), tool("show_it", &["a"])],
            r#"tool "delete_it": its preview tool "show_it" is not read-only"#,
        ),
        (
            vec![tool("delete_it", &["a"]).previewed_by("show_it"), look("show_it", &["b"])],
            r#"tool "delete_it": its preview tool "show_it" takes other arguments"#,
        ),
        (
            vec![
                tool("one", &[]).previewed_by("show_it"),
                look("show_it", &[]),
                tool("two", &[]).previewed_by("show_it"),
            ],
            r#"tool "two": its preview tool "show_it" is already the preview of "one""#,
        ),
        (
            vec![tool("act", &[]).requires_preview()],
            r#"tool "act": it requires a preview, and has none"#,
        ),
        (
            vec![tool("act", &["plan_token"]).previewed_by("show").requires_preview()],
            r#"tool "act": its argument `plan_token` is for the framework to add"#,
        ),
        (
            vec![
                tool("act", &[])
                    .preview(|_, _| async { Ok::<_, candor_server::tool::ToolError>("") }),
                look("preview_act", &[]),
            ],
            r#"tool "preview_act": another tool has this name"#,
        ),
    ] {
        assert_eq!(refused(tools), said);
    }
    let long = "x".repeat(60);
    let previewed =
        tool(&long, &[]).preview(|_, _| async { Ok::<_, candor_server::tool::ToolError>("") });
    assert!(refused(vec![previewed]).contains("more than 64 characters"));
}

#[test]
fn server_with_a_missing_tool_reference_does_not_build() {
    let error = server().tool(tool("delete_it", &[]).undo("restore_it")).build().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("delete_it") && error.contains("restore_it"), "{error}");
}

#[test]
fn tool_references_ignore_order_and_descriptions() {
    let described = |mut schema: Value, text: &str| {
        schema["properties"]["a"]["description"] = text.into();
        schema
    };
    let counter = Counter::default();
    let one = counter.tool("delete_it", &described(of(&["a"]), "What to delete"));
    let one = one.annotations(deletes()).previewed_by("show_it").undo("restore_it");
    let two = counter.tool("show_it", &described(of(&["a"]), "What would be deleted"));
    let tools = [one, two.annotations(reads()), tool("restore_it", &[])];
    let set = ToolSet::new(tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>)).unwrap();
    assert_eq!(set.len(), 3);
}

#[test]
fn false_description_and_blind_delete_are_logged_once() {
    // The log has each problem once, and the server builds.
    let log = Log::capture();
    let register = || {
        let wishful = look("wishful", &[]).description("Shows it. This cannot be undone.");
        let blind = tool("delete_gadget", &["gadget_id"]).description("Deletes a gadget.");
        server().tool(wishful).tool(blind).build().unwrap()
    };
    register();
    let said = log.take();
    let [contradicted, blind] = &said[..] else { panic!("{said:?}") };
    let words = r#"its description says "This cannot be undone.", and its declarations do not"#;
    assert_eq!(*contradicted, format!("WARN message={words} tool=wishful"));
    assert!(
        blind.contains("deletes by `gadget_id`") && blind.contains("tool=delete_gadget"),
        "{blind}"
    );
    register();
    assert_eq!(log.take(), Vec::<String>::new());
}
