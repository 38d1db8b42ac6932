//! The rules for a read result. If a provider breaks one, the client gets an error instead of the result.
//!
//! A read of a resource that lists children may return some of the children. A read of any other resource returns the resource
//! itself: once, or in several formats.

use candor_protocol::types::{ReadResourceResult, Resource, ResourceContents};
use serde::Serialize;

/// Checks a read result as the provider returned it.
pub(super) fn check(
    resource: &Resource,
    uri: &str,
    result: &ReadResourceResult,
) -> Result<(), String> {
    let contents = &result.contents;
    if contents.is_empty() && !resource.is_listable() {
        return Err("reading it gave no contents; at least one is needed".to_owned());
    }
    for content in contents {
        if content.text.is_some() == content.blob.is_some() {
            return Err(format!("the content {:?} needs either text or blob", content.uri));
        }
    }
    // A resource that does not say whether it can be listed may return other URIs: deprecated, but allowed.
    if resource.is_listable() || resource.capabilities.is_none() {
        return Ok(());
    }
    if let Some(other) = contents.iter().find(|content| content.uri != uri) {
        return Err(format!(
            "reading it gave {:?} too; a resource that cannot be listed gives its own URI only",
            other.uri
        ));
    }
    agree(resource, contents)?;
    let formats: Vec<_> = contents.iter().map(|content| content.mime_type.as_deref()).collect();
    if formats.len() > 1 {
        for (i, format) in formats.iter().enumerate() {
            match format {
                None => return Err("of several formats each needs its mimeType".to_owned()),
                Some(name) if formats[..i].contains(format) => {
                    return Err(format!("two contents have the format {name:?}"));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Copies the resource's metadata into a content, so that both agree. Where the metadata has no value, the content keeps its own.
pub(super) fn complete(content: &mut ResourceContents, resource: &Resource) {
    fn settle<T: Clone>(place: &mut Option<T>, said: Option<&T>) {
        if let Some(said) = said {
            *place = Some(said.clone());
        }
    }
    settle(&mut content.name, Some(&resource.name));
    settle(&mut content.title, resource.title.as_ref());
    settle(&mut content.description, resource.description.as_ref());
    settle(&mut content.icons, resource.icons.as_ref());
    settle(&mut content.annotations, resource.annotations.as_ref());
    settle(&mut content.capabilities, resource.capabilities.as_ref());
    // The content's own type takes precedence, because it may be one of several formats.
    if content.mime_type.is_none() {
        content.mime_type.clone_from(&resource.mime_type);
    }
}

/// Sets the size of this content, or returns an error if the provider's size is wrong.
pub(super) fn measure(content: &mut ResourceContents) -> Result<(), String> {
    let size = match (&content.text, &content.blob) {
        (Some(text), _) => text.len(),
        (None, Some(blob)) => decoded_length(blob)
            .ok_or_else(|| format!("the blob of {:?} is not Base64", content.uri))?,
        (None, None) => 0,
    };
    match &content.size {
        Some(said) if said.as_str() != size.to_string() => Err(format!(
            "the content {:?} says that it has {} bytes, and has {size}",
            content.uri,
            said.as_str()
        )),
        _ => {
            content.size = Some(size.into());
            Ok(())
        }
    }
}

/// Checks that several formats of a resource agree on name, title, description and annotations. If the metadata has a value, each
/// format has that value or none. Otherwise all formats have the same value.
fn agree(resource: &Resource, formats: &[ResourceContents]) -> Result<(), String> {
    type Said = fn(&ResourceContents) -> Option<String>;
    let members: [(&str, Option<String>, Said); 4] = [
        ("name", Some(resource.name.clone()), |content| content.name.clone()),
        ("title", resource.title.clone(), |content| content.title.clone()),
        ("description", resource.description.clone(), |content| content.description.clone()),
        ("annotations", resource.annotations.as_ref().and_then(written), |content| {
            content.annotations.as_ref().and_then(written)
        }),
    ];
    for (member, metadata, said) in members {
        let mut words = formats.iter().map(said);
        let agreed = match metadata {
            // A format without a value inherits it.
            Some(metadata) => words.flatten().all(|word| word == metadata),
            None => {
                let first = words.next().flatten();
                words.all(|word| word == first)
            }
        };
        if !agreed {
            return Err(format!("its contents and its metadata do not agree on their {member}"));
        }
    }
    Ok(())
}

fn written(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// Returns the decoded length of a Base64 text, or `None` if it is not Base64.
fn decoded_length(base64: &str) -> Option<usize> {
    let digits = base64.trim_end_matches('=');
    let padding = base64.len() - digits.len();
    let valid = digits.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'));
    (valid && padding <= 2 && base64.len().is_multiple_of(4))
        .then(|| base64.len() / 4 * 3 - padding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::types::Annotations;

    const URI: &str = "docs:///report";

    fn report() -> Resource {
        Resource::new(URI, "report").titled("Report").definite()
    }

    fn text(uri: &str, mime_type: &str) -> ResourceContents {
        ResourceContents::of_text(uri, mime_type, "hello")
    }

    /// Applies all rules to a read result.
    fn problem(resource: &Resource, contents: Vec<ResourceContents>) -> Option<String> {
        let mut result = ReadResourceResult::new(contents);
        let mut checked = check(resource, URI, &result);
        for content in &mut result.contents {
            complete(content, resource);
            checked = checked.and(measure(content));
        }
        checked.err()
    }

    #[test]
    fn one_content_or_several_formats_are_valid() {
        let pdf = ResourceContents::of_blob(URI, "application/pdf", "JVBERi0=");
        assert_eq!(problem(&report(), vec![text(URI, "text/plain")]), None);
        assert_eq!(problem(&report(), vec![pdf, text(URI, "text/plain")]), None);
    }

    #[test]
    fn every_broken_rule_is_named() {
        let mut both = text(URI, "text/plain");
        both.blob = Some(String::new());
        let mut sized = text(URI, "text/plain");
        sized.size = Some(6.into());
        let mut titled = text(URI, "text/html");
        titled.title = Some("Other".to_owned());
        let mut named = text(URI, "text/plain");
        named.title = Some("Report".to_owned());
        let mut advised = [text(URI, "text/plain"), text(URI, "text/html")];
        for (content, priority) in advised.iter_mut().zip([0, 1]) {
            let mut annotations = Annotations::new();
            annotations.priority = Some(priority.into());
            content.annotations = Some(annotations);
        }
        let mut untyped = text(URI, "");
        untyped.mime_type = None;
        let blob = |base64| vec![ResourceContents::of_blob(URI, "image/png", base64)];
        for (contents, words) in [
            (vec![], "no contents"),
            (vec![ResourceContents::new(URI)], "either text or blob"),
            (vec![both], "either text or blob"),
            (vec![text("docs:///other", "text/plain")], "its own URI only"),
            (vec![text(URI, "text/plain"), text(URI, "text/plain")], "two contents"),
            (vec![text(URI, "text/plain"), untyped], "needs its mimeType"),
            (vec![sized], "says that it has 6 bytes, and has 5"),
            (vec![named, titled], "agree on their title"),
            (advised.to_vec(), "agree on their annotations"),
            (blob("a"), "not Base64"),
            (blob("a b="), "not Base64"),
            (blob("===="), "not Base64"),
        ] {
            let problem = problem(&report(), contents).unwrap_or_default();
            assert!(problem.contains(words), "{words}: {problem}");
        }
    }

    #[test]
    fn listable_resource_may_return_children_or_nothing() {
        let folder = report().listable();
        assert_eq!(problem(&folder, vec![]), None);
        assert_eq!(
            problem(&folder, vec![text("docs:///a", "x/y"), text("docs:///b", "x/y")]),
            None
        );
    }

    #[test]
    fn resource_without_capabilities_may_return_other_uris() {
        let old = Resource::new(URI, "report");
        assert_eq!(problem(&old, vec![text(URI, "x/y"), text("docs:///b", "x/y")]), None);
        assert!(problem(&old, vec![]).is_some());
    }

    #[test]
    fn base64_size_is_that_of_the_decoded_bytes() {
        for (base64, bytes) in [("", 0), ("AA==", 1), ("AAA=", 2), ("AAAA", 3), ("AAAAAA==", 4)] {
            assert_eq!(decoded_length(base64), Some(bytes), "{base64}");
        }
    }
}
