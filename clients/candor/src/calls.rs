//! Calls: their effects, confirmations, results and cancellation.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_client::{Client, EffectSource, Error, Hints, RefusalSource, Trust, Verdict};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::Stage;
use crate::check::{Checked, Mismatch, check, holds};
use crate::peer::{Named, text};

/// The interval between two attempts.
const A_MOMENT: Duration = Duration::from_millis(50);

/// Checks that the call that reads succeeds without a confirmation.
pub(crate) async fn reads(stage: &Stage, client: &Client) -> Checked {
    let named = stage.peer.reads();
    let result = client.call_safely(&named.tool, named.arguments.clone()).await?;
    let said = result.text();
    holds(said.contains(named.text()), format!("it said {said:?}"))
}

/// Checks the effects of calls.
pub(crate) async fn explain(stage: &Stage, client: &Client) {
    let reads = stage.peer.reads();
    check("explains that a call only reads", async {
        let explanation = client.explain(&reads.tool, &reads.arguments).await?;
        let good = explanation.hints.is_read_only() && explanation.basis == EffectSource::Declared;
        holds(good && explanation.verdict == Verdict::Allow, format!("foresees {explanation:?}"))
    })
    .await;
    if let Some(adds) = stage.peer.call("adds") {
        check("explains that a call adds", async {
            let explanation = client.explain(&adds.tool, &adds.arguments).await?;
            let hints = explanation.hints;
            holds(!hints.is_read_only() && !hints.is_destructive(), format!("{hints:?}"))
        })
        .await;
    }
    if let Some(mystery) = stage.peer.call("undeclared") {
        check("assumes the worst case for a tool that declares nothing", async {
            let explanation = client.explain(&mystery.tool, &mystery.arguments).await?;
            let good =
                explanation.hints == Hints::WORST && explanation.basis == EffectSource::Nothing;
            holds(good && explanation.verdict == Verdict::Ask, format!("foresees {explanation:?}"))
        })
        .await;
    }
}

/// Checks which calls need confirmation.
pub(crate) async fn ask(stage: &Stage, client: &Client) {
    check("runs a call that reads without a confirmation", reads(stage, client)).await;
    let reading = stage.peer.reads();
    check("confirms every call of an untrusted server", async {
        let stranger = stage.connect(Trust::Untrusted).await?;
        let explanation = stranger.explain(&reading.tool, &reading.arguments).await?;
        holds(explanation.hints == Hints::WORST, format!("believes it: {:?}", explanation.hints))?;
        refused(&stranger, &reading).await?;
        let result = stranger
            .call_safely(&reading.tool, reading.arguments.clone())
            .confirm(|_| async { true })
            .await?;
        holds(result.text().contains(reading.text()), result.text())?;
        stranger.close().await;
        Ok(())
    })
    .await;
    for part in ["destroys", "undeclared"] {
        let Some(named) = stage.peer.call(part) else { continue };
        check(&format!("confirms a call before it runs ({part})"), async {
            let made = named.get("makes").map(|path| text(path).to_owned());
            let is_made = || made.as_ref().is_none_or(|path| std::path::Path::new(path).exists());
            refused(client, &named).await?;
            holds(made.is_none() || !is_made(), "it was called all the same")?;
            let shown = Arc::new(Mutex::new(None));
            let show = shown.clone();
            let confirmed = client.call_safely(&named.tool, named.arguments.clone()).confirm(
                move |proposal| async move {
                    *show.lock().expect("no holder panics") = Some(proposal);
                    true
                },
            );
            let result = confirmed.await?;
            holds(!result.is_error(), result.text())?;
            holds(is_made(), "it was not done")?;
            let shown = shown.lock().expect("no holder panics").take();
            let shown = shown.ok_or_else(|| Mismatch("nobody was asked".to_owned()))?;
            holds(*shown.arguments == named.arguments, "other arguments were shown")?;
            holds(shown.summary().contains(&named.tool), shown.summary())
        })
        .await;
    }
}

/// Checks that the client sends nothing without a confirmation.
async fn refused(client: &Client, named: &Named) -> Checked {
    let call = || client.call_safely(&named.tool, named.arguments.clone());
    match call().await {
        Err(Error::Refused(RefusalSource::NoPrompt)) => {}
        other => return Err(Mismatch(format!("with nobody to ask: {other:?}"))),
    }
    match call().confirm(|_| async { false }).await {
        Err(Error::Refused(RefusalSource::Person)) => Ok(()),
        other => Err(Mismatch(format!("after a no: {other:?}"))),
    }
}

/// Checks the results of calls.
pub(crate) async fn call(stage: &Stage, client: &Client) {
    let yes = |named: &Named| {
        client.call_safely(&named.tool, named.arguments.clone()).confirm(|_| async { true })
    };
    check("finds the value in a result", async {
        for named in stage.peer.calls("values") {
            let result = yes(&named).await?;
            let (value, wanted) = (result.value(), named.get("value"));
            holds(value == wanted, format!("{}: {value:?} instead of {wanted:?}", named.tool))?;
        }
        Ok(())
    })
    .await;
    if let Some(broken) = stage.peer.call("broken") {
        check("refuses a result that does not match its schema", async {
            match yes(&broken).await {
                Err(Error::ResultInvalid { .. }) => Ok(()),
                other => Err(Mismatch(format!("{other:?}"))),
            }
        })
        .await;
    }
    if let Some(fails) = stage.peer.call("fails") {
        check("returns the failure of a tool", async {
            let result = yes(&fails).await?;
            holds(result.is_error() && !result.text().is_empty(), format!("{result:?}"))
        })
        .await;
    }
    check("sends neither invalid arguments nor calls of unknown tools", async {
        let misfit = stage.peer.call("misfit").expect("a misfit in peers.json");
        match yes(&misfit).await {
            Err(Error::InvalidArguments(_)) => {}
            other => return Err(Mismatch(format!("{other:?}"))),
        }
        let reading = stage.peer.reads();
        let almost = format!("{}_", reading.tool);
        match client.call_safely(&almost, reading.arguments).await {
            Err(Error::UnknownTool { like, .. }) if like == [reading.tool.clone()] => Ok(()),
            other => Err(Mismatch(format!("{other:?}"))),
        }
    })
    .await;
    check("refuses a key if the server does not support keys", async {
        let reading = stage.peer.reads();
        let call = client.call_safely(&reading.tool, reading.arguments.clone()).key("k");
        match (client.has_keys(), call.await) {
            (false, Err(Error::KeysUnsupported)) | (true, Ok(_)) => Ok(()),
            (keys, other) => Err(Mismatch(format!("keys: {keys}; {other:?}"))),
        }
    })
    .await;
    check("runs twenty calls at once", async {
        let all = join_all((0..20).map(|_| reads(stage, client)));
        all.await.into_iter().collect::<Checked>()
    })
    .await;
    let Some(progress) = stage.peer.call("progress") else { return };
    check("receives the progress of a call", async {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hear = heard.clone();
        let call =
            client.call(&progress.tool, progress.arguments.clone()).on_progress(move |news| {
                hear.lock().expect("no holder panics").push((news.done, news.total));
            });
        call.await?;
        let heard = json!(*heard.lock().expect("no holder panics"));
        let steps = progress.get("steps").and_then(Value::as_u64).unwrap_or_default();
        let wanted = json!((1..=steps).map(|n| (n as f64, Some(steps as f64))).collect::<Vec<_>>());
        holds(heard == wanted, format!("heard {heard}"))
    })
    .await;
}

/// Checks that the client answers the server's questions during a call.
pub(crate) async fn answer(stage: &Stage, client: &Client) {
    for named in stage.peer.calls("asks") {
        check(&format!("answers the questions of {}", named.tool), async {
            loop {
                stage.asked.lock().expect("no holder panics").clear();
                let call = client.call_safely(&named.tool, named.arguments.clone());
                let result = call.confirm(|_| async { true }).await?;
                let said = result.text();
                if !said.contains(named.text()) {
                    // Some servers ask later. The time limit of the check ends the wait.
                    holds(named.get("later").is_some(), format!("it said {said:?}"))?;
                    tokio::time::sleep(A_MOMENT).await;
                    continue;
                }
                let asked = stage.asked.lock().expect("no holder panics").clone();
                let wanted: Vec<&str> = named.get("asked").map(text).into_iter().collect();
                return holds(asked == wanted, format!("it asked {asked:?}"));
            }
        })
        .await;
    }
}

/// Checks that the client cancels a call whose future is dropped, and that the server keeps running.
pub(crate) async fn take_back(stage: &Stage, client: &Client) {
    let Some(endless) = stage.peer.call("endless") else { return };
    check("cancels a call, and the server keeps running", async {
        for _ in 0..3 {
            let begun = Arc::new(Notify::new());
            let tell = begun.clone();
            let call = client.call(&endless.tool, endless.arguments.clone());
            let call = call.on_progress(move |_| tell.notify_one()).into_future();
            tokio::select! {
                ended = call => return Err(Mismatch(format!("it ended: {ended:?}"))),
                () = begun.notified() => {}
            }
        }
        client.ping().await?;
        reads(stage, client).await
    })
    .await;
    let Some(running) = stage.peer.call("running") else { return };
    check("a cancelled call has ended at the server", async {
        // The time limit of the check ends the wait.
        while !client.call(&running.tool, json!({})).await?.text().contains(running.text()) {
            tokio::time::sleep(A_MOMENT).await;
        }
        Ok(())
    })
    .await;
}
