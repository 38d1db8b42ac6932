//! Reads the messages of a legacy server that belong to no request.

use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use candor_protocol::rpc::RequestId;
use tokio::sync::oneshot;

use super::Shared;
use super::answer::{LONGEST_RETRY, RETRY};
use crate::link::sse::Events;

/// The longest wait between two streams that end at once, unless the server wants more.
const LONGEST_DOUBLED: Duration = Duration::from_secs(30);

/// Reads messages that belong to no request, as long as the session exists. Drops `asked` after the first attempt to open the
/// stream.
pub(super) async fn listen(http: Weak<Shared>, asked: oneshot::Sender<()>) {
    let mut asked = Some(asked);
    let mut place: Option<String> = None;
    let mut wait = RETRY;
    let nobody = RequestId::from("");
    loop {
        let Some(shared) = http.upgrade() else { return };
        let body = shared.resume(place.as_deref()).await;
        let limit = shared.limits.max_message;
        match body {
            Ok(body) => {
                // The server may not send earlier messages again.
                shared.host.missed();
                shared.hears.store(true, Ordering::Release);
                drop((shared, asked.take()));
                let begun = Instant::now();
                let mut events = Events::new(body, limit);
                loop {
                    let event = events.next().await;
                    let Some(shared) = http.upgrade() else { return };
                    let Ok(Some(event)) = event else {
                        shared.hears.store(false, Ordering::Release);
                        break;
                    };
                    if let Err(error) = shared.take(&nobody, &event) {
                        tracing::warn!(%error, "the server's stream has a message that cannot be read");
                    }
                }
                place = events.last_id.or(place);
                // If streams always end at once, the client asks for them less and less often. The server can lengthen the wait,
                // but not shorten it.
                let short = begun.elapsed() < RETRY;
                wait = if short { (wait * 2).min(LONGEST_DOUBLED) } else { RETRY };
                wait = wait.max(events.retry.unwrap_or_default());
            }
            Err(error) if error.is_passing() && shared.is_in_session() => {
                drop((shared, asked.take()));
                wait *= 2;
            }
            // The server has no such stream, or no such session.
            Err(_) => return,
        }
        wait = wait.min(LONGEST_RETRY);
        tokio::time::sleep(wait).await;
    }
}
