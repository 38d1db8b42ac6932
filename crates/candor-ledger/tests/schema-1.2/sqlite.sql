-- What the second minor version added to the first, with a grant that was given by a program that knew no more.
UPDATE candor_ledger SET minor = 2;

ALTER TABLE records ADD COLUMN binding BLOB;
ALTER TABLE records ADD COLUMN gated INTEGER;
ALTER TABLE records ADD COLUMN decided_by TEXT;
ALTER TABLE records ADD COLUMN via TEXT;
ALTER TABLE records ADD COLUMN why TEXT;
CREATE INDEX records_waiting ON records (last_row) WHERE state = 'waiting';
CREATE INDEX records_waiting_of ON records (scope, lapses) WHERE state = 'waiting';

ALTER TABLE audit ADD COLUMN via TEXT;
ALTER TABLE audit ADD COLUMN why TEXT;

CREATE TABLE grants (
    number     INTEGER PRIMARY KEY,
    id         BLOB NOT NULL UNIQUE,
    scope      INTEGER NOT NULL,
    pattern    TEXT NOT NULL,
    by_whom    TEXT NOT NULL,
    since      INTEGER NOT NULL,
    until      INTEGER NOT NULL,
    revoked_by TEXT,
    revoked_at INTEGER
) STRICT;
CREATE INDEX grants_in_force ON grants (scope, until) WHERE revoked_at IS NULL;

INSERT INTO grants (id, scope, pattern, by_whom, since, until) VALUES
    (x'07070707070707070707070707070707', 1, 'any', 'olga', 1700000000000, 4000000000000);
