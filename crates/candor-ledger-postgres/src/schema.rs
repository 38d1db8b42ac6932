//! The tables, their version, and the migration of an older ledger. As in SQLite, a *minor* version only adds. A program that
//! does not know a *major* version changes nothing.
//!
//! Row numbers: a sequence would give rows that are committed late numbers below those that a reader has already passed. So a
//! row's number is that of its transaction, shifted, plus its place in it: `((base + xid) << SHIFT) + place`. Below the
//! oldest of our transactions that still runs, no more rows appear. A list from the oldest on ends there (`reader`). Within a
//! record, numbers grow, because a transaction gets its own number only after it has locked the record.
//!
//! `base` is 0 in the cluster in which the ledger was created. In a cluster into which the ledger is restored, transactions
//! count from elsewhere, and `base` makes up for that.

use candor_ledger::StoreError;
use tokio_postgres::Client;

use crate::error::explain;

pub(crate) const MAJOR: u32 = 1;

/// The maximum number of rows of one transaction, as a power of two. Row numbers stay exact in a double for 2^43
/// transactions.
pub(crate) const SHIFT: u32 = 10;

/// What each minor version adds, from the first on. A program that knows an older version meets a newer one as in SQLite. The
/// columns are those of SQLite, but `usage` has one row per slot (see `usage`).
const ADDED: [&str; 4] = ["
    CREATE TABLE records (
        row            bigint PRIMARY KEY,
        id             bytea NOT NULL UNIQUE,
        principal      text NOT NULL,
        server         text NOT NULL,
        instance       text NOT NULL,
        tool           text NOT NULL,
        key            text NOT NULL,
        fingerprint    bytea NOT NULL,
        fence          bigint NOT NULL,
        attempt        bigint NOT NULL,
        by_nature      boolean NOT NULL,
        created        bigint NOT NULL,
        touched        bigint NOT NULL,
        last_row       bigint NOT NULL,
        state          text NOT NULL,
        lapses         bigint,
        owner          bytea,
        since          bigint,
        license        text,
        started_by     bytea,
        reason         text,
        round          bigint,
        by_whom        text,
        outcome_kind   text,
        outcome_len    bigint,
        outcome_digest bytea,
        outcome        bytea
    );
    CREATE INDEX records_lapse ON records (lapses) WHERE lapses IS NOT NULL;

    CREATE TABLE usage (
        principal text COLLATE \"C\" NOT NULL,
        slot      bigint NOT NULL,
        records   bigint NOT NULL,
        bytes     bigint NOT NULL,
        hour      bigint NOT NULL,
        fresh     bigint NOT NULL,
        PRIMARY KEY (principal, slot)
    );

    CREATE TABLE audit (
        seq          bigint PRIMARY KEY,
        at           bigint NOT NULL,
        record       bytea,
        previous     bigint,
        principal    text NOT NULL,
        server       text NOT NULL,
        instance     text NOT NULL,
        tool         text NOT NULL,
        key          text,
        event        text NOT NULL,
        came_from    text,
        came_to      text,
        fence        bigint,
        attempt      bigint,
        reason       text,
        outcome_kind text,
        by_whom      text,
        shape        text,
        digest       bytea,
        hints        text,
        duration     bigint,
        note         text
    );
", "
    ALTER TABLE records ADD COLUMN binding bytea, ADD COLUMN gated bigint, ADD COLUMN decided_by text,
        ADD COLUMN via text, ADD COLUMN why text;
    CREATE INDEX records_waiting ON records (last_row) WHERE state = 'waiting';
    CREATE INDEX records_waiting_of ON records (principal, lapses) WHERE state = 'waiting';

    ALTER TABLE audit ADD COLUMN via text, ADD COLUMN why text;

    CREATE TABLE grants (
        number     bigint PRIMARY KEY,
        id         bytea NOT NULL UNIQUE,
        principal  text NOT NULL,
        server     text NOT NULL,
        instance   text NOT NULL,
        tool       text NOT NULL,
        pattern    text NOT NULL,
        by_whom    text NOT NULL,
        since      bigint NOT NULL,
        until      bigint NOT NULL,
        revoked_by text,
        revoked_at bigint
    );
    CREATE INDEX grants_in_force ON grants (principal, tool, until) WHERE revoked_at IS NULL;
", "
    ALTER TABLE grants ADD COLUMN binding bytea;
", "
    ALTER TABLE records ADD COLUMN refuses_until bigint, ADD COLUMN error_code text, ADD COLUMN error_message text,
        ADD COLUMN arguments bytea;

    ALTER TABLE audit ADD COLUMN error_code text, ADD COLUMN error_message text;
"];

/// Returns the version of the ledger, or `None` if the schema is missing or empty.
async fn version(client: &Client, schema: &str) -> Result<Option<(u32, u32)>, StoreError> {
    let explain = |error: tokio_postgres::Error| explain(&error);
    let tables = client
        .query("SELECT tablename::text FROM pg_tables WHERE schemaname = $1", &[&schema])
        .await
        .map_err(explain)?;
    let tables: Vec<String> =
        tables.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(explain)?;
    if tables.is_empty() {
        return Ok(None);
    }
    if !tables.iter().any(|name| name == "candor_ledger") {
        return Err(StoreError::Corrupt(format!(
            "the schema {schema} has tables of another program; name another one with `?schema=`"
        )));
    }
    let found = client
        .query_opt("SELECT major::int, minor::int FROM candor_ledger", &[])
        .await
        .map_err(explain)?
        .ok_or_else(|| StoreError::Corrupt("it does not say its version".into()))?;
    let number = |at: usize| {
        let number: i32 = found.try_get(at).map_err(explain)?;
        u32::try_from(number).map_err(|_| StoreError::Corrupt("its version is no number".into()))
    };
    Ok(Some((number(0)?, number(1)?)))
}

/// Returns true if there is a ledger.
pub(crate) async fn exists(client: &Client, schema: &str) -> Result<bool, StoreError> {
    Ok(version(client, schema).await?.is_some())
}

/// Refuses what is not ours, before anything is changed. It runs on every new connection, because another replica may have
/// migrated the ledger meanwhile.
pub(crate) async fn check(client: &Client, schema: &str) -> Result<(), StoreError> {
    match version(client, schema).await? {
        Some((found, _)) if found > MAJOR => Err(StoreError::NewerSchema { found, known: MAJOR }),
        _ => Ok(()),
    }
}

/// Adds what is missing, one replica at a time.
pub(crate) async fn migrate(client: &Client, schema: &str, lock: i64) -> Result<(), StoreError> {
    let known = ADDED.len() as u32;
    if matches!(version(client, schema).await?, Some((_, minor)) if minor >= known)
        && !is_restored(client).await?
    {
        return Ok(());
    }
    let explain = |error: tokio_postgres::Error| explain(&error);
    client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await.map_err(explain)?;
    let changed = async {
        client.execute("SELECT pg_advisory_xact_lock($1)", &[&lock]).await.map_err(explain)?;
        // Another replica may have been quicker.
        check(client, schema).await?;
        let has = version(client, schema).await?.map_or(0, |(_, minor)| minor);
        if has == 0 {
            // A user without the right to create schemas may have been given one. `IF NOT EXISTS` needs the right even then.
            let exists = client
                .query_opt("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&schema])
                .await
                .map_err(explain)?;
            if exists.is_none() {
                let create = format!("CREATE SCHEMA \"{schema}\"");
                client.batch_execute(&create).await.map_err(explain)?;
            }
            let create = "CREATE TABLE candor_ledger (major bigint NOT NULL, minor bigint NOT NULL, base bigint NOT NULL);
                INSERT INTO candor_ledger VALUES (1, 0, 0)";
            client.batch_execute(create).await.map_err(explain)?;
        }
        for added in ADDED.iter().skip(has as usize) {
            client.batch_execute(added).await.map_err(explain)?;
        }
        client
            .execute("UPDATE candor_ledger SET minor = greatest(minor, $1)", &[&i64::from(known)])
            .await
            .map_err(explain)?;
        if is_restored(client).await? {
            let rebase = format!(
                "UPDATE candor_ledger SET base = (SELECT max(seq) >> {SHIFT} FROM audit) + 1"
            );
            client.batch_execute(&rebase).await.map_err(explain)?;
        }
        Ok(())
    };
    let changed = changed.await;
    let end = if changed.is_ok() { "COMMIT" } else { "ROLLBACK" };
    client.batch_execute(end).await.map_err(explain).and(changed)
}

/// Returns true if there are rows of transactions that this cluster has not reached. They were written in another cluster.
async fn is_restored(client: &Client) -> Result<bool, StoreError> {
    let later = format!(
        "SELECT coalesce((SELECT max(seq) >> {SHIFT} FROM audit) >= \
         base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint, false) FROM candor_ledger"
    );
    client
        .query_one(&later, &[])
        .await
        .and_then(|row| row.try_get(0))
        .map_err(|error| explain(&error))
}
