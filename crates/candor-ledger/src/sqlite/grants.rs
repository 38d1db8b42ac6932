//! Grants, to and from their table. The writer gives and revokes them; readers read beside it.

use rusqlite::{Connection, OptionalExtension as _, Result, Row};

use super::unsigned::UnsignedInteger;
use crate::grant::Grant;
use crate::id::{Binding, GrantId, Moment, Scope};

/// Lists grants by number. `CROSS JOIN` keeps SQLite from choosing another order.
pub(super) const LIST: &str = "SELECT number, grants.id, principal, server, instance, tool, pattern, by_whom, since, until, \
    revoked_by, revoked_at, binding FROM grants CROSS JOIN scopes ON scopes.id = scope";

const FIND: &str = "SELECT number, grants.id, principal, server, instance, tool, pattern, by_whom, since, until, \
    revoked_by, revoked_at, binding FROM grants CROSS JOIN scopes ON scopes.id = scope WHERE grants.id = ?";

/// Uses an index that has only grants that are not revoked, and skips those that have expired.
const OF_SCOPE: &str = "SELECT number, grants.id, principal, server, instance, tool, pattern, by_whom, since, until, \
    revoked_by, revoked_at, binding FROM scopes CROSS JOIN grants ON scope = scopes.id \
    WHERE principal = ? AND server = ? AND instance = ? AND tool = ? AND revoked_at IS NULL AND until >= ? \
    ORDER BY number DESC";

pub(super) fn read(row: &Row<'_>) -> Result<(u64, Grant)> {
    let revoked_by: Option<String> = row.get(10)?;
    let revoked_at: Option<i64> = row.get(11)?;
    let grant = Grant {
        id: GrantId(row.get(1)?),
        scope: Scope {
            principal: row.get(2)?,
            server: row.get(3)?,
            instance: row.get(4)?,
            tool: row.get(5)?,
        },
        binding: row.get::<_, Option<[u8; 32]>>(12)?.map(Binding),
        pattern: row.get(6)?,
        by: row.get(7)?,
        since: Moment(row.get(8)?),
        until: Moment(row.get(9)?),
        revoked: revoked_by.zip(revoked_at.map(Moment)),
    };
    Ok((UnsignedInteger::read(row, 0)?, grant))
}

pub(super) fn find(db: &Connection, id: GrantId) -> Result<Option<Grant>> {
    let found = db.prepare_cached(FIND)?.query_row([&id.0[..]], read).optional()?;
    Ok(found.map(|(_, grant)| grant))
}

pub(super) fn in_force(db: &Connection, scope: &Scope, now: Moment) -> Result<Vec<Grant>> {
    let Scope { principal, server, instance, tool } = scope;
    let mut statement = db.prepare_cached(OF_SCOPE)?;
    let found = statement.query_map((principal, server, instance, tool, now.0), read)?;
    let mut grants = Vec::new();
    for found in found {
        let (_, grant) = found?;
        if grant.is_in_force(now) {
            grants.push(grant);
        }
    }
    Ok(grants)
}

pub(super) fn put(db: &Connection, grant: &Grant, scope: i64) -> Result<()> {
    let binding = grant.binding.as_ref().map(|binding| &binding.0[..]);
    db.prepare_cached(
        "INSERT INTO grants (id, scope, pattern, by_whom, since, until, binding) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute((
        &grant.id.0[..],
        scope,
        &grant.pattern,
        &grant.by,
        grant.since.0,
        grant.until.0,
        binding,
    ))
    .map(drop)
}

pub(super) fn revoke(db: &Connection, id: GrantId, by: &str, now: Moment) -> Result<()> {
    db.prepare_cached("UPDATE grants SET revoked_by = ?, revoked_at = ? WHERE id = ?")?
        .execute((by, now.0, &id.0[..]))
        .map(drop)
}

/// Deletes at most `most` grants, oldest first.
pub(super) fn forget(db: &Connection, ended_before: i64, most: i64) -> Result<()> {
    db.prepare_cached(
        "DELETE FROM grants WHERE number IN (SELECT number FROM grants WHERE until < ? ORDER BY number LIMIT ?)",
    )?
    .execute([ended_before, most])
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_of_a_scope_are_read_by_index() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut db).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {OF_SCOPE}")).unwrap();
        let steps = plan.query_map(("", "", "", "", 0), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        assert!(
            steps.iter().any(|step| step.contains("USING INDEX grants_in_force (scope=?")),
            "{steps:?}"
        );
        assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{steps:?}");
    }
}
