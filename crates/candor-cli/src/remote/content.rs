//! The content that a tool or a prompt returns, block by block, for users.

use candor::operator::json;
use candor::operator::shown::shown;
use candor_client::types::{Content, ResourceContents};

use super::safe;

/// Returns the blocks as lines, all of them safe to show.
pub(super) fn summary(content: &[Content]) -> String {
    content.iter().map(block).collect::<Vec<_>>().join("\n")
}

pub(super) fn block(block: &Content) -> String {
    match block {
        Content::Text(text) => safe::text(&text.text),
        Content::Image(image) => bytes("image", &image.mime_type, &image.data),
        Content::Audio(audio) => bytes("audio", &audio.mime_type, &audio.data),
        Content::ResourceLink(link) => format!("{}  {}", shown(&link.name), shown(&link.uri)),
        Content::Resource(embedded) => resource(&embedded.resource),
        other => json::compact(&serde_json::to_string(other).unwrap_or_default()),
    }
}

fn resource(contents: &ResourceContents) -> String {
    match (&contents.text, &contents.blob) {
        (Some(text), _) => safe::text(text),
        (None, blob) => {
            let kind = contents.mime_type.as_deref().unwrap_or("bytes");
            bytes(&contents.uri, kind, blob.as_deref().unwrap_or_default())
        }
    }
}

/// Describes binary content. Base64 encodes three bytes in four characters.
fn bytes(what: &str, kind: &str, base64: &str) -> String {
    let length = base64.trim_end_matches('=').len() * 3 / 4;
    format!("[{}, {}, {length} bytes; --json has them]", shown(what), shown(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_content_is_described_instead_of_printed() {
        assert_eq!(
            bytes("image", "image/png", "AAECAw=="),
            "[image, image/png, 4 bytes; --json has them]"
        );
        assert_eq!(bytes("a", "b\u{1b}", ""), "[a, b\\u{1b}, 0 bytes; --json has them]");
        assert_eq!(summary(&[Content::text("a\u{1b}[2J"), Content::text("b")]), "a\\u{1b}[2J\nb");
    }
}
