//! The one task that writes for this process.
//!
//! To make a write durable takes much longer than the write, and so does the way to the server. So it takes all commands that
//! wait, and gives them one transaction. What this process says of one record happens in the order in which it was said.
//!
//! **Nothing that may have happened is tried again.** If the connection is lost after the `COMMIT` went out, all of the transaction
//! are told that nobody knows. A transaction is repeated only where it is certain that the first has left nothing: the connection
//! was lost before anything was written (a server that was restarted while nobody called), or the server refused a statement and
//! the fault may be one command's; then each is on its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::grants;
use super::line::PgConnection;
use super::transaction::{
    self, Failure, LockMode, PgReport, PgWork, StoreContext, TransactionResult,
};
use crate::event::Event;
use crate::outcome::Body;
use crate::store::StoreError;
use crate::watchers::Watchers;

/// At most so many commands share a transaction, so that none waits for too many others.
const BATCH: usize = 64;
/// And not more than this, unless one alone is larger.
const BYTES: usize = 8 << 20;

pub(super) struct PgCommand {
    pub(super) work: PgWork,
    /// Used when what was done is durable.
    pub(super) reply: Reply,
}

type Reply = oneshot::Sender<Result<PgReport, StoreError>>;

/// The server cannot be reached.
struct ConnectionLoss {
    error: StoreError,
    /// Who is still to be told.
    untold: Vec<Reply>,
}

impl PgCommand {
    fn size(&self) -> usize {
        let arguments = match &self.work {
            PgWork::Apply { circumstances, .. } => {
                circumstances.arguments.as_ref().map_or(0, |arguments| arguments.len())
            }
            PgWork::Note(_) | PgWork::Grants(_) => 0,
        };
        arguments
            + match &self.work {
                PgWork::Apply {
                    event: Event::Complete { outcome, .. } | Event::Suspend { asked: outcome, .. },
                    ..
                } => match &outcome.body {
                    Body::Kept(bytes) => bytes.len(),
                    Body::Omitted { .. } => 0,
                },
                PgWork::Apply { event: Event::Ask { asked, .. }, .. } => asked.len(),
                _ => 0,
            }
    }
}

pub(super) struct PgWriter {
    pub(super) line: PgConnection,
    pub(super) judge: Arc<StoreContext>,
    pub(super) watchers: Arc<Watchers>,
}

impl PgWriter {
    /// Until nobody can send commands any more, and all that were sent have their answer.
    pub(super) async fn run(self, mut commands: mpsc::UnboundedReceiver<PgCommand>) {
        while let Some(first) = commands.recv().await {
            let mut size = first.size();
            let mut waiting = vec![first];
            // SQLite's writer gives those that it has just answered a moment to say more. Here that was tried and costs more than
            // it brings: a timer's smallest step is as long as a whole transaction.
            while waiting.len() < BATCH
                && size < BYTES
                && let Ok(next) = commands.try_recv()
            {
                size += next.size();
                waiting.push(next);
            }
            if let Err(ConnectionLoss { error, mut untold }) = self.write(waiting).await {
                // Those behind waited just as long, and must not wait for one attempt after the other. Who is told may come
                // back at once, and is then no longer one of those.
                while let Ok(command) = commands.try_recv() {
                    untold.push(command.reply);
                }
                tell(untold, &error);
            }
        }
    }

    async fn write(&self, commands: Vec<PgCommand>) -> Result<(), ConnectionLoss> {
        // A grant has a transaction of its own, and what was said before it happens before it.
        let is_grant = |command: &PgCommand| matches!(command.work, PgWork::Grants(_));
        if commands.len() > 1 && commands.iter().any(is_grant) {
            return self.write_each(commands).await;
        }
        let (work, replies): (Vec<_>, Vec<_>) =
            commands.into_iter().map(|command| (command.work, command.reply)).unzip();
        match self.transact(&work).await {
            Ok(reports) => {
                for (reply, report) in replies.into_iter().zip(reports) {
                    // Who asked may be gone; what was written stays.
                    let _ = reply.send(report);
                }
                Ok(())
            }
            Err(Failure::Refused { of_one: true, .. }) if work.len() > 1 => {
                let each = work.into_iter().zip(replies);
                self.write_each(each.map(|(work, reply)| PgCommand { work, reply }).collect()).await
            }
            Err(Failure::Refused { error, .. }) => {
                tell(replies, &error);
                Ok(())
            }
            Err(Failure::LostBefore(error) | Failure::Lost(error)) => {
                Err(ConnectionLoss { error, untold: replies })
            }
        }
    }

    /// Each in a transaction of its own.
    async fn write_each(&self, commands: Vec<PgCommand>) -> Result<(), ConnectionLoss> {
        let mut each = commands.into_iter();
        while let Some(alone) = each.next() {
            if let Err(mut lost) = Box::pin(self.write(vec![alone])).await {
                lost.untold.extend(each.map(|command| command.reply));
                return Err(lost);
            }
        }
        Ok(())
    }

    async fn transact(
        &self,
        work: &[PgWork],
    ) -> Result<Vec<Result<PgReport, StoreError>>, Failure> {
        let begun = Instant::now();
        let mut is_first = true;
        loop {
            let session = self.line.session().await.map_err(Failure::LostBefore)?;
            let done = match work {
                [PgWork::Grants(change)] => grants::run(&session, &self.judge, change)
                    .await
                    .map(|report| TransactionResult { reports: vec![report], changed: Vec::new() }),
                work => transaction::run(&session, &self.judge, work, LockMode::Wait).await,
            };
            match done {
                Ok(done) => {
                    done.changed.iter().for_each(|record| self.watchers.changed(record));
                    return Ok(done.reports);
                }
                // It was lost before we came, so it is seen at once. Who has waited has waited long enough.
                Err(Failure::LostBefore(_))
                    if is_first
                        && session.is_over()
                        && begun.elapsed() < Duration::from_secs(1) =>
                {
                    is_first = false;
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

fn tell(replies: Vec<Reply>, error: &StoreError) {
    for reply in replies {
        let _ = reply.send(Err(error.clone()));
    }
}
