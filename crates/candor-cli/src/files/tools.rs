//! The tools of a folder.

use std::sync::Arc;

use candor::json;
use candor::protocol::types::ToolAnnotations;
use candor::tool::{JsonTool, Output, ToolError};

use super::folder::Folder;

pub(super) fn list_files(folder: Arc<Folder>) -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Folder to list, relative to the root", "default": ""}},
        "additionalProperties": false,
    });
    JsonTool::new("list_files", &schema, move |args, _ctx| {
        let folder = folder.clone();
        async move {
            let path = args["path"].as_str().unwrap_or_default();
            let listed = folder.list(path).map_err(|e| in_words(path, &e))?;
            let entries: Vec<_> = listed
                .iter()
                .map(|l| json!({"path": l.path, "kind": l.kind.as_str(), "size": l.size}))
                .collect();
            Ok(Output::structured(json!({"entries": entries})))
        }
    })
    .description("Lists the files and folders in a folder")
    .annotations(reads())
}

pub(super) fn read_file(folder: Arc<Folder>) -> JsonTool {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "File to read, relative to the root"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    JsonTool::new("read_file", &schema, move |args, _ctx| {
        let folder = folder.clone();
        async move {
            let path = args["path"].as_str().unwrap_or_default();
            let bytes = folder.read(path).map_err(|e| in_words(path, &e))?;
            String::from_utf8(bytes).map_err(|_| {
                ToolError::new(format!("{path}: not a text file; read it as a resource"))
            })
        }
    })
    .description("Reads a text file")
    .annotations(reads())
}

fn in_words(path: &str, error: &std::io::Error) -> ToolError {
    let path = if path.is_empty() { "." } else { path };
    ToolError::new(format!("{path}: {error}"))
}

fn reads() -> ToolAnnotations {
    let mut annotations = ToolAnnotations::new();
    annotations.read_only_hint = Some(true);
    annotations.open_world_hint = Some(false);
    annotations
}
