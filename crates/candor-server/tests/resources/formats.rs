//! One resource in several formats.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_server::Server;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use serde_json::{Value, json};

use crate::common::server;
use crate::{EXTENSION, everywhere, everywhere_knowing, knowing};

const REPORT: &str = "file:///docs/report.pdf";

fn pdf() -> Vec<u8> {
    let mut bytes = b"%PDF-1.4\n".to_vec();
    bytes.resize(102_400, 0xe2);
    bytes
}

fn extracted() -> String {
    format!("{:.<8192}", "Extracted text content of the PDF")
}

/// A report: as PDF, and as the text of it.
fn report() -> Server {
    let resource = Resource::new(REPORT, "Quarterly Report")
        .titled("Report")
        .described("Of the quarter")
        .modified("2026-01-15T10:00:00Z")
        .formats(["application/pdf", "text/plain"]);
    let set = ResourceSet::new().resource(resource, |uri, _| async move {
        Ok(vec![
            ResourceContents::of_blob(uri.as_str(), "application/pdf", BASE64.encode(pdf())),
            ResourceContents::of_text(uri, "text/plain", extracted()),
        ])
    });
    server().resources(set)
}

#[tokio::test(start_paused = true)]
async fn report_is_read_in_both_of_its_formats() {
    everywhere(report, async |peer| {
        let contents = peer.read(REPORT).await;
        let [as_pdf, as_text] = contents.as_array().unwrap().as_slice() else {
            panic!("two contents: {contents}");
        };
        for (content, mime_type, size) in
            [(as_pdf, "application/pdf", 102_400), (as_text, "text/plain", 8192)]
        {
            assert_eq!(content["uri"], REPORT);
            assert_eq!(content["name"], "Quarterly Report");
            assert_eq!(content["mimeType"], mime_type);
            assert_eq!(content["size"], size);
        }
        let blob = as_pdf["blob"].as_str().unwrap();
        assert!(blob.starts_with("JVBERi0xLjQK"), "{}", &blob[..20]);
        assert_eq!(BASE64.decode(blob).unwrap(), pdf());
        assert_eq!(as_text["text"].as_str().unwrap().len(), 8192);
        assert_eq!((as_pdf.get("text"), as_text.get("blob")), (None, None));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn formats_share_the_metadata_of_their_resource() {
    everywhere_knowing(&knowing(), report, async |peer| {
        let contents = peer.read(REPORT).await;
        let resource = peer.metadata(REPORT).await;
        for member in ["name", "title", "description", "annotations", "capabilities"] {
            assert_ne!(resource[member], Value::Null, "{member}");
            assert_eq!(contents[0][member], resource[member]);
            assert_eq!(contents[1][member], resource[member]);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn list_names_the_preferred_format_and_all_formats() {
    for known in [json!({}), knowing()] {
        everywhere_knowing(&known, report, async |peer| {
            let listed = peer.list().await;
            let described = peer.metadata(REPORT).await;
            assert_eq!(listed[0], described);
            assert_eq!(described["mimeType"], "application/pdf");
            assert_eq!(
                described["_meta"][EXTENSION]["formats"],
                json!(["application/pdf", "text/plain"])
            );
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn resource_without_a_preferred_format_has_no_mime_type() {
    let either = || {
        let set =
            ResourceSet::new().resource(Resource::new("docs:///a", "a"), |uri, _| async move {
                Ok(vec![
                    ResourceContents::of_text(uri.as_str(), "text/html", "<p>a</p>"),
                    ResourceContents::of_text(uri, "text/markdown", "a"),
                ])
            });
        server().resources(set)
    };
    everywhere(either, async |peer| {
        assert_eq!(peer.metadata("docs:///a").await.get("mimeType"), None);
        let contents = peer.read("docs:///a").await;
        assert_eq!(contents[0]["mimeType"], "text/html");
        assert_eq!(contents[1]["mimeType"], "text/markdown");
    })
    .await;
}
