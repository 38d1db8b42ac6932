-- A ledger as version 1.1 made it. The test adds one call that has ended and one that is unknown.
CREATE TABLE candor_ledger (major bigint NOT NULL, minor bigint NOT NULL, base bigint NOT NULL);
INSERT INTO candor_ledger VALUES (1, 1, 0);

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
    principal text COLLATE "C" NOT NULL,
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

INSERT INTO usage VALUES ('ada', 0, 2, 9, 0, 0);
INSERT INTO audit (seq, at, previous, principal, server, instance, tool, key, event, came_from, came_to, fence, attempt) VALUES
    (1, 1700000000000, NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'a', 'start', 'absent', 'dispatched', 1, 1),
    (2, 1700000000001, 1, 'ada', 'invoices', 'file:data', 'create_invoice', 'a', 'complete', 'dispatched', 'completed', 1, 1),
    (3, 1700000000002, NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'b', 'start', 'absent', 'dispatched', 1, 1);
