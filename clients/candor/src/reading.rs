//! Reads: resources and their children, prompts, completion.

use candor_client::types::CompleteReference;
use candor_client::{Client, Error, bytes_of};
use serde_json::Value;

use crate::Stage;
use crate::check::{Checked, Mismatch, check, holds};
use crate::peer::{text, texts};

pub(crate) async fn resources(stage: &Stage, client: &Client) {
    let Some(known) = stage.peer.get("resources") else {
        check("reports that the server has no resources", async {
            match client.resources().await {
                Err(Error::Unsupported(_)) => Ok(()),
                other => Err(Mismatch(format!("{other:?}"))),
            }
        })
        .await;
        return;
    };
    check("lists resources and templates", async {
        holds(!client.resources().await?.is_empty(), "no resources")?;
        let templates = client.templates().await?;
        let templates: Vec<_> = templates.iter().map(|t| t.uri_template.as_str()).collect();
        holds(templates == texts(&known["templates"]), format!("{templates:?}"))
    })
    .await;
    check("reads text and bytes", async {
        for part in ["text", "bytes"] {
            let Some(wanted) = known.get(part) else { continue };
            let contents = client.read(text(&wanted["uri"])).await?;
            let content = contents.preferred(&["text/*"]).ok_or_else(|| nothing(part))?;
            holds(content.blob.is_some() == (part == "bytes"), format!("{content:?}"))?;
            let bytes = bytes_of(content)?;
            let has = text(&wanted["has"]).as_bytes();
            let found = bytes.windows(has.len()).any(|window| window == has);
            holds(found, format!("it reads {:?}", String::from_utf8_lossy(&bytes)))?;
        }
        Ok(())
    })
    .await;
    check("returns metadata, and that the children are unknown", async {
        let uri = text(&known["text"]["uri"]);
        let resource = client.metadata(uri).await?;
        holds(resource.uri == uri, format!("{resource:?}"))?;
        holds(client.children(uri).await?.is_none(), "it lists what is beneath")
    })
    .await;
    check("returns the error for a missing resource", async {
        match client.read(text(&known["missing"])).await {
            Err(Error::Server(_)) => Ok(()),
            other => Err(Mismatch(format!("{other:?}"))),
        }
    })
    .await;
}

pub(crate) async fn prompts(stage: &Stage, client: &Client) {
    if let Some(known) = stage.peer.get("prompt") {
        check("lists prompts and gets one", async {
            let name = text(&known["name"]);
            let prompts = client.prompts().await?;
            holds(prompts.iter().any(|prompt| prompt.name == name), format!("{prompts:?}"))?;
            let arguments = known["arguments"].as_object().into_iter().flatten();
            let arguments = arguments.map(|(name, value)| (name.clone(), text(value).to_owned()));
            let filled = client.prompt(name, arguments).await?;
            let said = filled.messages.first().and_then(|message| message.content.as_text());
            holds(said.is_some_and(|said| said.contains(text(&known["has"]))), format!("{said:?}"))
        })
        .await;
    }
    if let Some(known) = stage.peer.get("completion") {
        check("completes an argument", completes(client, known)).await;
    }
}

async fn completes(client: &Client, known: &Value) -> Checked {
    let mut reference = CompleteReference::new(text(&known["type"]));
    reference.name = known.get("name").map(|name| text(name).to_owned());
    reference.uri = known.get("uri").map(|uri| text(uri).to_owned());
    let completed =
        client.complete(reference, (text(&known["argument"]), text(&known["value"])), []);
    let values = completed.await?.completion.values;
    holds(values == texts(&known["gives"]), format!("{values:?}"))
}

fn nothing(part: &str) -> Mismatch {
    Mismatch(format!("no {part}"))
}
