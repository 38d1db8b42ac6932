//! The one task that writes for this process.
//!
//! To make a write durable takes much longer than the write, and so does the round trip to the server. So the task puts all
//! waiting commands into one transaction. Events of this process on one record keep their order.
//!
//! **Nothing that may have happened is tried again.** If the connection is lost after the `COMMIT` was sent, every command of
//! the transaction gets an error. It may have happened. A transaction is repeated only if the first one certainly wrote
//! nothing:
//!
//! - The connection was lost before any write, for example because the server restarted while no calls came.
//! - The server refused a statement, and one command may be the cause. Then each command gets its own transaction.

use std::sync::Arc;
use std::time::Duration;

use candor_ledger::storage::Watchers;
use candor_ledger::{Body, Event, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::grants;
use crate::line::PgConnection;
use crate::transaction::{
    self, Failure, LockMode, PgReport, PgWork, StoreContext, TransactionResult,
};

/// The maximum number of commands in a transaction, so that none waits for too many others.
const BATCH: usize = 64;
/// The maximum number of bytes in a transaction, unless one command alone is larger.
const BYTES: usize = 8 << 20;

pub(crate) struct PgCommand {
    pub(crate) work: PgWork,
    /// Sends the report when the work is durable.
    pub(crate) reply: Reply,
}

type Reply = oneshot::Sender<Result<PgReport, StoreError>>;

/// The connection to the server is lost.
struct ConnectionLoss {
    error: StoreError,
    /// The replies that are still to be sent.
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

pub(crate) struct PgWriter {
    pub(crate) line: PgConnection,
    pub(crate) judge: Arc<StoreContext>,
    pub(crate) watchers: Arc<Watchers>,
}

impl PgWriter {
    /// Runs until no sender is left and every command has its reply.
    pub(crate) async fn run(self, mut commands: mpsc::UnboundedReceiver<PgCommand>) {
        while let Some(first) = commands.recv().await {
            let mut size = first.size();
            let mut waiting = vec![first];
            // SQLite's writer waits a moment for the callers that it has just answered. Here, this costs more than it gains:
            // the smallest step of a timer is as long as a whole transaction.
            while waiting.len() < BATCH
                && size < BYTES
                && let Ok(next) = commands.try_recv()
            {
                size += next.size();
                waiting.push(next);
            }
            if let Err(ConnectionLoss { error, mut untold }) = self.write(waiting).await {
                // Commands in the queue have waited just as long, and must not each wait for another attempt. Take them
                // before any reply is sent: a caller that gets its reply may send a new command at once.
                while let Ok(command) = commands.try_recv() {
                    untold.push(command.reply);
                }
                tell(untold, &error);
            }
        }
    }

    async fn write(&self, commands: Vec<PgCommand>) -> Result<(), ConnectionLoss> {
        // A grant has its own transaction, and commands that were sent before it run before it.
        let is_grant = |command: &PgCommand| matches!(command.work, PgWork::Grants(_));
        if commands.len() > 1 && commands.iter().any(is_grant) {
            return self.write_each(commands).await;
        }
        let (work, replies): (Vec<_>, Vec<_>) =
            commands.into_iter().map(|command| (command.work, command.reply)).unzip();
        match self.transact(&work).await {
            Ok(reports) => {
                for (reply, report) in replies.into_iter().zip(reports) {
                    // The caller may be gone; the write stays.
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

    /// Runs each command in its own transaction.
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
                // The connection was already lost before this transaction, which shows at once. A caller that has waited
                // longer must not wait again.
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
