-- A ledger as version 1.1 made it. The test adds one call that has ended and one that is unknown.
CREATE TABLE candor_ledger (major INTEGER NOT NULL, minor INTEGER NOT NULL) STRICT;
INSERT INTO candor_ledger VALUES (1, 1);

CREATE TABLE scopes (
    id        INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    server    TEXT NOT NULL,
    instance  TEXT NOT NULL,
    tool      TEXT NOT NULL,
    UNIQUE (principal, server, instance, tool)
) STRICT;

CREATE TABLE records (
    row            INTEGER PRIMARY KEY,
    short          INTEGER NOT NULL,
    id             BLOB NOT NULL,
    scope          INTEGER NOT NULL,
    key            TEXT NOT NULL,
    fingerprint    BLOB NOT NULL,
    fence          INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    by_nature      INTEGER NOT NULL,
    created        INTEGER NOT NULL,
    touched        INTEGER NOT NULL,
    last_row       INTEGER NOT NULL,
    state          TEXT NOT NULL,
    lapses         INTEGER,
    owner          BLOB,
    since          INTEGER,
    license        TEXT,
    started_by     BLOB,
    reason         TEXT,
    round          INTEGER,
    by_whom        TEXT,
    outcome_kind   TEXT,
    outcome_len    INTEGER,
    outcome_digest BLOB,
    outcome        BLOB
) STRICT;
CREATE INDEX records_short ON records (short);
CREATE INDEX records_lapse ON records (lapses) WHERE lapses IS NOT NULL;

CREATE TABLE usage (
    principal TEXT PRIMARY KEY,
    records   INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    hour      INTEGER NOT NULL,
    fresh     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    seq          INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    previous     INTEGER,
    scope        INTEGER NOT NULL,
    key          TEXT,
    event        TEXT NOT NULL,
    came_from    TEXT,
    came_to      TEXT,
    fence        INTEGER,
    attempt      INTEGER,
    reason       TEXT,
    outcome_kind TEXT,
    by_whom      TEXT,
    shape        TEXT,
    digest       BLOB,
    hints        TEXT,
    duration     INTEGER,
    note         TEXT
) STRICT;

INSERT INTO scopes VALUES (1, 'ada', 'invoices', 'file:data', 'create_invoice');
INSERT INTO usage VALUES ('ada', 2, 9, 0, 0);
INSERT INTO audit (seq, at, previous, scope, key, event, came_from, came_to, fence, attempt) VALUES
    (1, 1700000000000, NULL, 1, 'a', 'start', 'absent', 'dispatched', 1, 1),
    (2, 1700000000001, 1, 1, 'a', 'complete', 'dispatched', 'completed', 1, 1),
    (3, 1700000000002, NULL, 1, 'b', 'start', 'absent', 'dispatched', 1, 1);
