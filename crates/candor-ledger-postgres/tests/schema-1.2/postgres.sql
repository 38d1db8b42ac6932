-- What the second minor version added to the first, with a grant that was given by a program that knew no more.
UPDATE candor_ledger SET minor = 2;

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

INSERT INTO grants (number, id, principal, server, instance, tool, pattern, by_whom, since, until) VALUES
    (4, '\x07070707070707070707070707070707', 'ada', 'invoices', 'file:data', 'create_invoice', 'any', 'olga', 1700000000000,
     4000000000000);
