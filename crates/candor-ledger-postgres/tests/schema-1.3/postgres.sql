-- What the third minor version added to the second.
UPDATE candor_ledger SET minor = 3;

ALTER TABLE grants ADD COLUMN binding bytea;
