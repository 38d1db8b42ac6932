//! Several events in one transaction.
//!
//! **Locks.** A record that does not exist yet has no row to lock, so what is locked is its *name*: an advisory lock, held until the
//! end of the transaction, of every record that the transaction touches. It is taken in a statement of its own before the record
//! is read; under READ COMMITTED each statement sees what was committed before it began, and a transaction is seen before it lets
//! go of its locks. So whoever gets the lock reads what the last holder has left, be it a row, another row, or none. `FOR UPDATE` comes on
//! top, against hands that do not know of the names. What a principal has in our slot (`usage`) is locked by name in the same way,
//! and only if one of the events may change it.
//!
//! **Order.** First the records, in the order of their names' numbers, then the principals, in the order of theirs. Everybody does so; nobody
//! waits in a circle. A sweep does not wait for records at all: what somebody holds is left to them.
//!
//! **Two flights.** Locks, time, records and usage are asked for in one go. What the machine says is then written, and committed,
//! in one go: if one of these statements is refused, the server turns the `COMMIT` behind it into a rollback.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future;
use sha2::{Digest as _, Sha256};
use tokio_postgres::{Error, Row};

use super::error::{explain, is_of_one, is_refusal};
use super::grants::Change;
use super::line::Session;
use super::rows::{self, Append, Put};
use super::schema::SHIFT;
use super::usage::{Part, Shared};
use crate::audit::{AuditRow, Circumstances, Note};
use crate::columns::Columns;
use crate::event::{Answer, Event};
use crate::grant::Grant;
use crate::id::{Moment, RecordDigest, RecordId};
use crate::machine::After;
use crate::plan::plan;
use crate::record::Record;
use crate::rules::{Rules, Usage};
use crate::store::{Clock, StoreError};

/// What is to be done.
pub(super) enum Work {
    Apply {
        id: RecordId,
        digest: RecordDigest,
        event: Event,
        circumstances: Circumstances,
    },
    Note(Note),
    /// Always alone: see `grants`.
    Grants(Change),
}

pub(super) enum Report {
    Answer(Answer),
    Noted,
    Grant(Option<Grant>),
}

/// Why a transaction did not become one.
pub(super) enum Failure {
    /// The connection was lost before anything was written.
    LostBefore(StoreError),
    /// The connection was lost, and nobody knows whether it was written.
    Lost(StoreError),
    /// The server refused: nothing was written.
    Refused {
        error: StoreError,
        /// It may be the fault of one of several.
        of_one: bool,
    },
}

/// What came of it.
pub(super) struct Done {
    pub(super) reports: Vec<Result<Report, StoreError>>,
    pub(super) changed: Vec<RecordDigest>,
}

/// Whether to wait for records that others hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Wait,
    Skip,
}

/// What events are judged by, and under what names records are locked.
pub(super) struct Judge {
    pub(super) rules: Rules,
    pub(super) clock: Clock,
    pub(super) names: Names,
    /// Where this instance counts what principals have.
    pub(super) slot: i64,
}

/// Names of locks. They are the whole database's, so the schema is part of them; should two meet, somebody waits without need.
pub(super) struct Names(String);

impl Names {
    pub(super) fn of_schema(schema: &str) -> Self {
        Self(schema.to_owned())
    }

    fn name(&self, kind: &str, of: &[u8]) -> i64 {
        let hash = Sha256::new()
            .chain_update(b"candor-ledger/lock/1/")
            .chain_update(kind)
            .chain_update([0])
            .chain_update(&self.0)
            .chain_update([0])
            .chain_update(of)
            .finalize();
        i64::from_be_bytes(std::array::from_fn(|at| hash[at]))
    }

    pub(super) fn migration(&self) -> i64 {
        self.name("migration", b"")
    }

    /// Held, and shared, by all that write.
    pub(super) fn writing(&self) -> i64 {
        self.name("writing", b"")
    }

    fn record(&self, digest: &RecordDigest) -> i64 {
        self.name("record", &digest.0)
    }

    fn principal(&self, slot: i64, principal: &str) -> i64 {
        self.name(&format!("principal/{slot}"), principal.as_bytes())
    }
}

/// A record in the course of a transaction.
#[derive(Clone)]
struct Known {
    record: Record,
    last_row: i64,
}

/// What a transaction has read under its locks.
struct Read {
    now: Moment,
    first_row: i64,
    records: HashMap<RecordDigest, Known>,
    usage: HashMap<String, Shared>,
    /// How many questions wait, of those who ask.
    waiting: HashMap<String, u64>,
}

/// What it will write.
#[derive(Default)]
struct Planned<'a> {
    reports: Vec<Result<Report, StoreError>>,
    rows: Vec<Append>,
    /// Records that change; `None` if they are to be removed.
    records: HashMap<RecordDigest, (&'a RecordId, Option<Known>)>,
    usage: HashMap<&'a str, Usage>,
    waiting: HashMap<&'a str, u64>,
}

/// All statements of a transaction, so that none is prepared in the middle of one: that would change the order of what goes out.
pub(super) async fn prepare(session: &Session) -> Result<(), Error> {
    let all = [
        rows::LOCK,
        rows::TRY_LOCK,
        rows::FIND_LOCKED,
        rows::USAGE,
        rows::COUNT_WAITING,
        rows::APPEND,
        rows::PUT,
        rows::REMOVE,
        rows::PUT_USAGE,
        begun(),
    ];
    let all = all.map(|sql| session.prepared(sql));
    future::try_join_all(all).await.map(drop)
}

pub(super) fn begun() -> &'static str {
    static BEGUN: std::sync::LazyLock<String> = std::sync::LazyLock::new(rows::begun);
    &BEGUN
}

/// Lets all of it happen, or nothing.
pub(super) async fn run(
    session: &Session,
    judge: &Judge,
    work: &[Work],
    held: Held,
) -> Result<Done, Failure> {
    let mut principals: HashSet<String> = work
        .iter()
        .filter_map(|work| match work {
            Work::Apply { id, event, .. } if may_change_usage(event) => {
                Some(id.scope.principal.clone())
            }
            _ => None,
        })
        .collect();
    loop {
        let read = async {
            prepare(session).await?;
            lock_and_read(session, judge, work, &principals, held).await
        };
        let (read, locked) = match session.in_time(read).await {
            Err(silence) => return Err(Failure::LostBefore(silence)),
            Ok(Err(error)) => return Err(undone(session, &error).await),
            Ok(Ok(Err(corrupt))) => return Err(undone_for(session, corrupt).await),
            Ok(Ok(Ok(read))) => read,
        };
        match planned(judge, work, &locked, &read) {
            Ok(planned) => {
                write(session, judge.slot, &read, &planned).await?;
                let changed = planned.records.keys().copied().collect();
                return Ok(Done { reports: planned.reports, changed });
            }
            // Time had more to do than the events, so what these principals have changes too. To lock them now would be out of
            // order: from the beginning, then, and nothing was written yet.
            Err(missing) => {
                roll_back(session).await?;
                principals.extend(missing);
            }
        }
    }
}

pub(super) async fn roll_back(session: &Session) -> Result<(), Failure> {
    match session.in_time(session.client.batch_execute("ROLLBACK")).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            session.give_up();
            Err(Failure::LostBefore(explain(&error)))
        }
        Err(silence) => Err(Failure::LostBefore(silence)),
    }
}

/// The transaction has failed before anything was written.
async fn undone(session: &Session, error: &Error) -> Failure {
    if is_refusal(error) {
        let of_one = is_of_one(error);
        match undone_for(session, explain(error)).await {
            Failure::Refused { error, .. } => Failure::Refused { error, of_one },
            lost => lost,
        }
    } else {
        session.give_up();
        Failure::LostBefore(explain(error))
    }
}

async fn undone_for(session: &Session, error: StoreError) -> Failure {
    match roll_back(session).await {
        Ok(()) => Failure::Refused { error, of_one: false },
        Err(lost) => lost,
    }
}

type Asked<T> = Result<Result<T, StoreError>, Error>;

/// Which records are ours for the length of the transaction: all of them, if they were waited for.
type Locked = Option<HashSet<RecordDigest>>;

async fn lock_and_read(
    session: &Session,
    judge: &Judge,
    work: &[Work],
    principals: &HashSet<String>,
    held: Held,
) -> Asked<(Read, Locked)> {
    let digests: BTreeSet<RecordDigest> = work
        .iter()
        .filter_map(|work| match work {
            Work::Apply { digest, .. } => Some(*digest),
            Work::Note(_) | Work::Grants(_) => None,
        })
        .collect();
    let names: HashMap<i64, Vec<RecordDigest>> = {
        let mut names: HashMap<i64, Vec<RecordDigest>> = HashMap::new();
        for digest in &digests {
            names.entry(judge.names.record(digest)).or_default().push(*digest);
        }
        names
    };
    let mut in_order: Vec<i64> = names.keys().copied().collect();
    in_order.sort_unstable();

    // Each of them is among the principals, too.
    let askers: BTreeSet<&str> = work
        .iter()
        .filter_map(|work| match work {
            Work::Apply { id, event: Event::Ask { .. }, .. } => Some(id.scope.principal.as_str()),
            _ => None,
        })
        .collect();

    let client = &session.client;
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock_shared({})",
        judge.names.writing()
    );
    // Prepared before: what follows goes out in the order in which it stands, without waiting.
    let begun = session.prepared(begun()).await?;
    let find = session.prepared(rows::FIND_LOCKED).await?;
    let (locked, now, found, usage) = match held {
        Held::Wait => {
            let lock = session.prepared(rows::LOCK).await?;
            let (begin, locks, usage, now, found) = future::join5(
                client.batch_execute(&begin),
                client.execute(&lock, &[&in_order]),
                lock_usage(session, judge, principals, &askers),
                client.query_one(&begun, &[]),
                find_locked(session, &find, &digests),
            )
            .await;
            begin?;
            locks?;
            (None, now?, found?, usage?)
        }
        Held::Skip => {
            let try_lock = session.prepared(rows::TRY_LOCK).await?;
            let (begin, granted) =
                future::join(client.batch_execute(&begin), client.query(&try_lock, &[&in_order]))
                    .await;
            begin?;
            let granted: Vec<i64> =
                granted?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            let ours: BTreeSet<RecordDigest> =
                granted.iter().filter_map(|name| names.get(name)).flatten().copied().collect();
            let (usage, now, found) = future::join3(
                lock_usage(session, judge, principals, &askers),
                client.query_one(&begun, &[]),
                find_locked(session, &find, &ours),
            )
            .await;
            (Some(ours.into_iter().collect()), now?, found?, usage?)
        }
    };
    let first_row: i64 = now.try_get(1)?;
    let now = judge.clock.given().unwrap_or(Moment(now.try_get(0)?));
    Ok(records(&found).and_then(|records| {
        let (usage, waiting) = usage?;
        Ok((Read { now, first_row, records, usage, waiting }, locked))
    }))
}

async fn find_locked(
    session: &Session,
    find: &tokio_postgres::Statement,
    digests: &BTreeSet<RecordDigest>,
) -> Result<Vec<Row>, Error> {
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    let digests: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
    session.client.query(find, &[&digests]).await
}

fn records(found: &[Row]) -> Result<HashMap<RecordDigest, Known>, StoreError> {
    found
        .iter()
        .map(|row| {
            let (digest, last_row) = rows::name_and_number(row)?;
            Ok((digest, Known { record: rows::record(row)?, last_row }))
        })
        .collect()
}

/// Of an event of which we do not know better, yes.
fn may_change_usage(event: &Event) -> bool {
    !matches!(event, Event::Dispatch(_) | Event::Heartbeat(_) | Event::Release(_))
}

async fn lock_usage(
    session: &Session,
    judge: &Judge,
    principals: &HashSet<String>,
    askers: &BTreeSet<&str>,
) -> Asked<(HashMap<String, Shared>, HashMap<String, u64>)> {
    if principals.is_empty() {
        return Ok(Ok(Default::default()));
    }
    let mut names: Vec<i64> =
        principals.iter().map(|name| judge.names.principal(judge.slot, name)).collect();
    names.sort_unstable();
    names.dedup();
    let principals: Vec<&str> = principals.iter().map(String::as_str).collect();
    let (lock, usage) = (session.prepared(rows::LOCK).await?, session.prepared(rows::USAGE).await?);
    let (locked, found, counted) = future::join3(
        session.client.execute(&lock, &[&names]),
        session.client.query(&usage, &[&principals]),
        count_waiting(session, judge, askers),
    )
    .await;
    locked?;
    let mut waiting: HashMap<String, u64> =
        askers.iter().map(|name| ((*name).to_owned(), 0)).collect();
    for row in &counted? {
        let counted: i64 = row.try_get(1)?;
        waiting.insert(row.try_get(0)?, u64::try_from(counted).unwrap_or(0));
    }
    // Who has nothing yet has no row either.
    let mut usage: HashMap<String, Shared> =
        principals.iter().map(|name| ((*name).to_owned(), Shared::default())).collect();
    for row in &found? {
        match rows::usage(row) {
            Ok((principal, slot, part)) => {
                usage.entry(principal).or_default().add(part, slot == judge.slot);
            }
            Err(corrupt) => return Ok(Err(corrupt)),
        }
    }
    Ok(Ok((usage, waiting)))
}

async fn count_waiting(
    session: &Session,
    judge: &Judge,
    askers: &BTreeSet<&str>,
) -> Result<Vec<Row>, Error> {
    if askers.is_empty() {
        return Ok(Vec::new());
    }
    let askers: Vec<&str> = askers.iter().copied().collect();
    let given = judge.clock.given().map(|now| now.0);
    let count = session.prepared(rows::COUNT_WAITING).await?;
    session.client.query(&count, &[&askers, &given]).await
}

/// What a principal has that was not asked for. A change of it can be seen, and is not believed.
const UNKNOWN: Usage = Usage { records: 1 << 60, bytes: 1 << 60, hour: -1, fresh: 0 };

/// What all of it makes of what was read. `Err`: whose usage must be known, too.
fn planned<'a>(
    judge: &Judge,
    work: &'a [Work],
    locked: &Locked,
    read: &Read,
) -> Result<Planned<'a>, HashSet<String>> {
    let mut planned = Planned::default();
    let mut missing = HashSet::new();
    for work in work {
        let report = match work {
            Work::Note(note) => {
                let row = AuditRow::of_note(note.clone(), read.now);
                planned.append(read, row, None, None);
                Ok(Report::Noted)
            }
            Work::Grants(_) => Err(StoreError::Unavailable("a grant is not given here".into())),
            Work::Apply { digest, .. }
                if locked.as_ref().is_some_and(|locked| !locked.contains(digest)) =>
            {
                // Somebody is at it, so it is looked after.
                Ok(Report::Answer(Answer::Done))
            }
            Work::Apply { id, digest, event, circumstances } => {
                let principal = id.scope.principal.as_str();
                let known = match planned.records.get(digest) {
                    Some((_, known)) => known.clone(),
                    None => read.records.get(digest).cloned(),
                };
                let usage = planned.usage.get(principal).copied();
                let usage = usage.or_else(|| read.usage.get(principal).map(Shared::usage));
                let is_known = usage.is_some();
                let usage = usage.unwrap_or(UNKNOWN);
                let before = known.as_ref().map(|known| &known.record);
                let event = event.clone();
                let counted = planned.waiting.get(principal).or(read.waiting.get(principal));
                let waiting = counted.copied().unwrap_or(0);
                let (now, rules) = (read.now, &judge.rules);
                match plan(id, before, usage, waiting, event, circumstances, now, rules) {
                    Ok(plan) if is_known || plan.usage == usage => {
                        let mut last_row = known.as_ref().map(|known| known.last_row);
                        for row in plan.rows {
                            last_row = Some(planned.append(read, row, Some(*digest), last_row));
                        }
                        if plan.after != After::Unchanged && is_known {
                            planned.usage.insert(principal, plan.usage);
                        }
                        planned.waiting.insert(principal, plan.waiting);
                        let last_row = last_row.unwrap_or_default();
                        match plan.after {
                            After::Unchanged => {}
                            After::Written(record) => {
                                let known = Known { record, last_row };
                                planned.records.insert(*digest, (id, Some(known)));
                            }
                            After::Removed => {
                                planned.records.insert(*digest, (id, None));
                            }
                        }
                        Ok(Report::Answer(plan.answer))
                    }
                    Err(quota) if is_known => Err(quota.into()),
                    Ok(_) | Err(_) => {
                        missing.insert(principal.to_owned());
                        Ok(Report::Noted)
                    }
                }
            }
        };
        planned.reports.push(report);
    }
    if missing.is_empty() { Ok(planned) } else { Err(missing) }
}

impl Planned<'_> {
    fn append(
        &mut self,
        read: &Read,
        row: AuditRow,
        record: Option<RecordDigest>,
        previous: Option<i64>,
    ) -> i64 {
        debug_assert!(self.rows.len() < 1 << SHIFT, "more rows than a transaction has numbers for");
        let seq = read.first_row + self.rows.len() as i64;
        self.rows.push(Append { seq, row, record, previous });
        seq
    }
}

async fn write(
    session: &Session,
    slot: i64,
    read: &Read,
    planned: &Planned<'_>,
) -> Result<(), Failure> {
    let client = &session.client;
    let removed: Vec<&[u8]> = planned
        .records
        .iter()
        .filter(|(digest, (_, after))| after.is_none() && read.records.contains_key(digest))
        .map(|(digest, _)| &digest.0[..])
        .collect();
    let puts: Vec<Put<'_>> = planned
        .records
        .iter()
        .filter_map(|(digest, (id, after))| {
            let Known { record, last_row } = after.as_ref()?;
            // A record's own number is that of the row that tells of its beginning.
            let first = planned.rows.iter().find(|row| row.record.as_ref() == Some(digest));
            let row = first.map_or(*last_row, |row| row.seq);
            let columns = Columns::of(&record.state);
            Some(Put { id, digest: *digest, record, last_row: *last_row, row, columns })
        })
        .collect();
    let usages: Vec<(&str, Part)> = planned
        .usage
        .iter()
        .filter_map(|(principal, after)| {
            let before = read.usage.get(*principal)?;
            (before.usage() != *after).then(|| (*principal, before.ours_for(*after)))
        })
        .collect();
    if planned.rows.is_empty() && removed.is_empty() && puts.is_empty() && usages.is_empty() {
        return roll_back(session).await;
    }

    // A statement that the driver cannot even send must not be missing from what is committed: sending comes first, and in order.
    let all_sent = AtomicBool::new(true);
    let send = async |is_needed: bool, sql: &'static str, arrays: &rows::Arrays<'_>| {
        if !is_needed {
            return Ok(());
        }
        let done = match session.prepared(sql).await {
            Ok(statement) => client.execute(&statement, &rows::bind(arrays)).await,
            Err(error) => Err(error),
        };
        if done.is_err() {
            all_sent.store(false, Ordering::Relaxed);
        }
        done.map(drop)
    };
    let (appends, put, usage) =
        (rows::appends(&planned.rows), rows::puts(&puts), rows::usages(&usages, slot));
    let gone: rows::Arrays<'_> = vec![Box::new(&removed)];
    let flight = future::join5(
        send(!planned.rows.is_empty(), rows::APPEND, &appends),
        send(!removed.is_empty(), rows::REMOVE, &gone),
        send(!puts.is_empty(), rows::PUT, &put),
        send(!usages.is_empty(), rows::PUT_USAGE, &usage),
        async {
            let end = if all_sent.load(Ordering::Relaxed) { "COMMIT" } else { "ROLLBACK" };
            client.batch_execute(end).await
        },
    );
    let (appended, removed, put, used, committed) = match session.in_time(flight).await {
        Ok(flight) => flight,
        Err(silence) => return Err(Failure::Lost(silence)),
    };
    let written = appended.and(removed).and(put).and(used);
    match (written, committed) {
        (Ok(()), Ok(())) => Ok(()),
        // The transaction has an end, and it is not the good one.
        (Err(error), Ok(())) if is_refusal(&error) => {
            Err(Failure::Refused { error: explain(&error), of_one: is_of_one(&error) })
        }
        (Err(error), _) | (Ok(()), Err(error)) => {
            session.give_up();
            Err(Failure::Lost(explain(&error)))
        }
    }
}
