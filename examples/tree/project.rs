//! A fixed set of resources, some of them in folders.

use candor::prelude::*;

const REPORT: &str = "file:///docs/report.pdf";

pub(crate) fn tree() -> ResourceSet {
    let source = |name: &str| {
        Resource::new(format!("file:///projects/src/{name}"), name).of_type("text/typescript")
    };
    let files = ResourceSet::new()
        .resource(source("main.ts"), |_, _| async {
            Ok("import { app } from './app';\n\napp();\n")
        })
        .resource(source("app.ts"), |_, _| async { Ok("export const app = () => {};\n") });
    let report = Resource::new(REPORT, "Quarterly Report")
        .described("What was earned, and with what")
        .formats(["application/pdf", "text/plain"]);
    ResourceSet::new()
        .folder(Resource::new("file:///projects/src", "src").of_type("inode/directory"), files)
        .resource(report, |uri, _| async move {
            // The same content twice: a client that cannot show a PDF uses the text.
            Ok(vec![
                ResourceContents::of_bytes(&uri, "application/pdf", &pdf()),
                ResourceContents::of_text(&uri, "text/plain", text()),
            ])
        })
}

fn text() -> String {
    format!("{:8192}", "Earnings were good.\n")
}

/// Returns a PDF as large as reports usually are.
fn pdf() -> Vec<u8> {
    let mut pdf = b"%PDF-1.4\n".to_vec();
    pdf.resize(102_400, b'\n');
    pdf
}
