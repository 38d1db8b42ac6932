//! Resources of every kind.

use candor::prelude::*;

use crate::content::PNG;

/// The resource that clients can subscribe to; `test_touch_resource` reports a change of it.
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn set() -> candor::Result<ResourceSet> {
    let set = ResourceSet::new()
        .resource(
            described("test://static-text", "Static text", "text/plain"),
            |uri, _| async move {
                Ok(vec![ResourceContents::of_text(
                    uri,
                    "text/plain",
                    "This is the content of the static text resource.",
                )])
            },
        )
        .resource(
            described("test://static-binary", "Static bytes", "image/png"),
            |uri, _| async move { Ok(vec![ResourceContents::of_blob(uri, "image/png", PNG)]) },
        )
        .resource(described(WATCHED, "Watched text", "text/plain"), |uri, _| async move {
            Ok(vec![ResourceContents::of_text(uri, "text/plain", "Watched resource content.")])
        })
        .watched(WATCHED)
        .folder(
            described("test://folder", "Folder", "inode/directory"),
            ResourceSet::new()
                .resource(described("test://folder/notes", "Notes", "text/plain"), |_, _| async {
                    Ok("Notes in a folder.")
                })
                .folder(
                    described("test://folder/deeper", "Deeper folder", "inode/directory"),
                    ResourceSet::new(),
                ),
        );
    let mut template = ResourceTemplate::new("test://template/{id}/data", "Template");
    template.description = Some("Data by id".to_owned());
    template.mime_type = Some("application/json".to_owned());
    let set = set.template(template, |uri, variables, _| async move {
        let id = &variables["id"];
        let text = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})
            .to_string();
        Ok(vec![ResourceContents::of_text(uri, "application/json", text)])
    })?;
    Ok(set)
}

fn described(uri: &str, name: &str, kind: &str) -> Resource {
    let mut resource = Resource::new(uri, name);
    resource.description = Some(format!("{name}, for testing"));
    resource.mime_type = Some(kind.to_owned());
    resource
}
