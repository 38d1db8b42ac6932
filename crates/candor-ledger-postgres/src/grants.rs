//! Grants.
//!
//! Reviewers and operators give and revoke them rarely. So each change is a transaction of its own, and a few more round
//! trips do not matter. Every gated call reads them, so reading is one statement.

use std::sync::Arc;

use candor_ledger::storage::GrantPlan;
use candor_ledger::{Binding, Grant, GrantId, Moment, Scope, StoreError};
use tokio_postgres::{Error, Row};

use crate::error::{explain, is_refusal};
use crate::line::{PgConnection, PgSession};
use crate::rows::{self, AuditInsert, bytes, get, number};
use crate::transaction::{Failure, GrantChange, PgReport, StoreContext, begun, roll_back};

macro_rules! columns {
    () => {
        "number, id, principal, server, instance, tool, pattern, by_whom, since, until, revoked_by, revoked_at, binding"
    };
}
pub(crate) const LIST: &str = concat!("SELECT ", columns!(), " FROM grants");
const FIND: &str = concat!("SELECT ", columns!(), " FROM grants WHERE id = $1 FOR UPDATE");
/// Uses an index that has only grants that are not revoked.
const OF_SCOPE: &str = concat!(
    "SELECT ",
    columns!(),
    ", now FROM grants, coalesce($5, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS now \
     WHERE principal = $1 AND server = $2 AND instance = $3 AND tool = $4 AND revoked_at IS NULL AND until >= now \
     ORDER BY number DESC"
);
const PUT: &str = concat!(
    "INSERT INTO grants (",
    columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, NULL, NULL, $11)"
);
const REVOKE: &str = "UPDATE grants SET revoked_by = $2, revoked_at = $3 WHERE id = $1";
pub(crate) const FORGET: &str = "DELETE FROM grants WHERE number IN \
     (SELECT number FROM grants WHERE until < $1 ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED)";

pub(crate) fn read(row: &Row) -> Result<(i64, Grant), StoreError> {
    let revoked_by: Option<String> = get(row, 10)?;
    let revoked_at: Option<i64> = get(row, 11)?;
    let id = bytes(row, 1)?.ok_or_else(|| StoreError::Corrupt("a grant has no name".into()))?;
    let grant = Grant {
        id: GrantId(id),
        scope: Scope {
            principal: get(row, 2)?,
            server: get(row, 3)?,
            instance: get(row, 4)?,
            tool: get(row, 5)?,
        },
        binding: bytes(row, 12)?.map(Binding),
        pattern: get(row, 6)?,
        by: get(row, 7)?,
        since: Moment(get(row, 8)?),
        until: Moment(get(row, 9)?),
        revoked: revoked_by.zip(revoked_at.map(Moment)),
    };
    Ok((number(row, 0)?, grant))
}

/// Returns the grants in force for a scope. If the connection was lost, it reads once more, because reading changes nothing.
pub(crate) async fn in_force(
    line: &PgConnection,
    judge: &StoreContext,
    scope: &Scope,
) -> Result<Vec<Grant>, StoreError> {
    let found = line
        .ask(async |session: Arc<PgSession>| match find_all(&session, judge, scope).await {
            Ok(found) => Ok(found),
            Err(_) if session.is_over() => {
                let session = line.session().await?;
                find_all(&session, judge, scope).await.map_err(|error| explain(&error))
            }
            Err(error) => Err(explain(&error)),
        })
        .await?;
    in_force_of(&found)
}

async fn find_all(
    session: &PgSession,
    judge: &StoreContext,
    scope: &Scope,
) -> Result<Vec<Row>, Error> {
    let Scope { principal, server, instance, tool } = scope;
    let statement = session.prepared(OF_SCOPE).await?;
    let given = judge.clock.given().map(|now| now.0);
    session.client.query(&statement, &[principal, server, instance, tool, &given]).await
}

fn in_force_of(found: &[Row]) -> Result<Vec<Grant>, StoreError> {
    let grants = found.iter().map(|row| Ok((read(row)?.1, Moment(get(row, 13)?))));
    let grants: Vec<(Grant, Moment)> = grants.collect::<Result<_, StoreError>>()?;
    Ok(grants
        .into_iter()
        .filter(|(grant, now)| grant.is_in_force(*now))
        .map(|(grant, _)| grant)
        .collect())
}

/// Gives or revokes a grant and writes an audit row, or changes nothing.
pub(crate) async fn run(
    session: &PgSession,
    judge: &StoreContext,
    change: &GrantChange,
) -> Result<Result<PgReport, StoreError>, Failure> {
    let made = match session.in_time(make(session, judge, change)).await {
        Ok(made) => made,
        Err(silence) => return Err(Failure::LostBefore(silence)),
    };
    match made {
        Ok(Ok((grant, true))) => {
            match session.in_time(session.client.batch_execute("COMMIT")).await {
                Ok(Ok(())) => Ok(Ok(PgReport::Grant(grant))),
                Ok(Err(error)) => {
                    session.give_up();
                    Err(Failure::Lost(explain(&error)))
                }
                Err(silence) => Err(Failure::Lost(silence)),
            }
        }
        Ok(Ok((grant, false))) => roll_back(session).await.map(|()| Ok(PgReport::Grant(grant))),
        Ok(Err(refused)) => roll_back(session).await.map(|()| Err(refused)),
        Err(error) if is_refusal(&error) => {
            roll_back(session).await?;
            Err(Failure::Refused { error: explain(&error), of_one: false })
        }
        Err(error) => {
            session.give_up();
            Err(Failure::LostBefore(explain(&error)))
        }
    }
}

/// Runs the transaction up to the commit. Returns the grant, and whether it changed.
async fn make(
    session: &PgSession,
    judge: &StoreContext,
    change: &GrantChange,
) -> Result<Result<(Option<Grant>, bool), StoreError>, Error> {
    let client = &session.client;
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock_shared({})",
        judge.names.writing()
    );
    client.batch_execute(&begin).await?;
    // Lock the row first, then take the transaction's number: so the rows of one grant are in order, like those of a record.
    let found = match change {
        GrantChange::Give { .. } => None,
        GrantChange::Revoke { id, .. } => {
            let find = session.prepared(FIND).await?;
            match client.query_opt(&find, &[&&id.0[..]]).await?.as_ref().map(read).transpose() {
                Ok(Some((_, grant))) => Some(grant),
                Ok(None) => return Ok(Ok((None, false))),
                Err(corrupt) => return Ok(Err(corrupt)),
            }
        }
    };
    let begun = session.prepared(begun()).await?;
    let begun = client.query_one(&begun, &[]).await?;
    let seq: i64 = begun.try_get(1)?;
    let now = judge.clock.given().unwrap_or(Moment(begun.try_get(0)?));

    let GrantPlan { grant, row } = match (change, found) {
        (GrantChange::Give { id, granting }, _) => {
            let stored = match in_force_of(&find_all(session, judge, &granting.scope).await?) {
                Ok(stored) => stored,
                Err(corrupt) => return Ok(Err(corrupt)),
            };
            let plan = match GrantPlan::give(*id, granting.clone(), &stored, now, &judge.rules) {
                Ok(plan) => plan,
                Err(quota) => return Ok(Err(quota.into())),
            };
            let grant = &plan.grant;
            let put = session.prepared(PUT).await?;
            let Scope { principal, server, instance, tool } = &grant.scope;
            let by = rows::readable(&grant.by);
            let (since, until) = (grant.since.0, grant.until.0);
            let binding = grant.binding.as_ref().map(|binding| &binding.0[..]);
            client
                .execute(
                    &put,
                    &[
                        &seq,
                        &&grant.id.0[..],
                        principal,
                        server,
                        instance,
                        tool,
                        &grant.pattern,
                        &by,
                        &since,
                        &until,
                        &binding,
                    ],
                )
                .await?;
            plan
        }
        (GrantChange::Revoke { id, by }, Some(stored)) => {
            let plan = GrantPlan::revoke(stored, by.clone(), now);
            if plan.row.is_some() {
                let revoke = session.prepared(REVOKE).await?;
                client.execute(&revoke, &[&&id.0[..], &rows::readable(by), &now.0]).await?;
            }
            plan
        }
        (GrantChange::Revoke { .. }, None) => return Ok(Ok((None, false))),
    };
    let Some(row) = row else { return Ok(Ok((Some(grant), false))) };
    let append = session.prepared(rows::APPEND).await?;
    let appends = [AuditInsert { seq, row, record: None, previous: None }];
    client.execute(&append, &rows::bind(&rows::appends(&appends))).await?;
    Ok(Ok((Some(grant), true)))
}
