-- A ledger as version 1.4 made it: a dump of what `common/fixture.rs` fills.

CREATE TABLE audit (
    seq bigint NOT NULL,
    at bigint NOT NULL,
    record bytea,
    previous bigint,
    principal text NOT NULL,
    server text NOT NULL,
    instance text NOT NULL,
    tool text NOT NULL,
    key text,
    event text NOT NULL,
    came_from text,
    came_to text,
    fence bigint,
    attempt bigint,
    reason text,
    outcome_kind text,
    by_whom text,
    shape text,
    digest bytea,
    hints text,
    duration bigint,
    note text,
    via text,
    why text,
    error_code text,
    error_message text
);

CREATE TABLE candor_ledger (
    major bigint NOT NULL,
    minor bigint NOT NULL,
    base bigint NOT NULL
);

CREATE TABLE grants (
    number bigint NOT NULL,
    id bytea NOT NULL,
    principal text NOT NULL,
    server text NOT NULL,
    instance text NOT NULL,
    tool text NOT NULL,
    pattern text NOT NULL,
    by_whom text NOT NULL,
    since bigint NOT NULL,
    until bigint NOT NULL,
    revoked_by text,
    revoked_at bigint,
    binding bytea
);

CREATE TABLE records (
    "row" bigint NOT NULL,
    id bytea NOT NULL,
    principal text NOT NULL,
    server text NOT NULL,
    instance text NOT NULL,
    tool text NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    fence bigint NOT NULL,
    attempt bigint NOT NULL,
    by_nature boolean NOT NULL,
    created bigint NOT NULL,
    touched bigint NOT NULL,
    last_row bigint NOT NULL,
    state text NOT NULL,
    lapses bigint,
    owner bytea,
    since bigint,
    license text,
    started_by bytea,
    reason text,
    round bigint,
    by_whom text,
    outcome_kind text,
    outcome_len bigint,
    outcome_digest bytea,
    outcome bytea,
    binding bytea,
    gated bigint,
    decided_by text,
    via text,
    why text,
    refuses_until bigint,
    error_code text,
    error_message text,
    arguments bytea
);

CREATE TABLE usage (
    principal text NOT NULL COLLATE pg_catalog."C",
    slot bigint NOT NULL,
    records bigint NOT NULL,
    bytes bigint NOT NULL,
    hour bigint NOT NULL,
    fresh bigint NOT NULL
);

INSERT INTO audit VALUES (754688, 1700000000000, '\xc48dcc03067f9b68e0ca1c2a046eeee61915f470514fc5d18f6da639a0a580e9', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'tombstone', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (755712, 1700000000000, '\xc48dcc03067f9b68e0ca1c2a046eeee61915f470514fc5d18f6da639a0a580e9', 754688, 'ada', 'invoices', 'file:data', 'create_invoice', 'tombstone', 'complete', 'dispatched', 'completed', 1, 1, NULL, 'success', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (756736, 1700086400001, '\xc48dcc03067f9b68e0ca1c2a046eeee61915f470514fc5d18f6da639a0a580e9', 755712, 'ada', 'invoices', 'file:data', 'create_invoice', 'tombstone', 'lapse', 'completed', 'tombstone', 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (758784, 1700086400001, '\xf159b7512e85ebb3d01062a6812c7cfa70f1ede0efc161210a8ae50139f1f9e8', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'open', 'claim', 'absent', 'claimed', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (759808, 1700086400001, '\xf159b7512e85ebb3d01062a6812c7cfa70f1ede0efc161210a8ae50139f1f9e8', 758784, 'ada', 'invoices', 'file:data', 'create_invoice', 'open', 'release', 'claimed', 'open', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (760832, 1700086400001, '\x90d87bb8323b1e9fae6642d3788a31fbf3c014722787478e3207f54d01f57824', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'harmless', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (761856, 1700086400001, '\x90d87bb8323b1e9fae6642d3788a31fbf3c014722787478e3207f54d01f57824', 760832, 'ada', 'invoices', 'file:data', 'create_invoice', 'harmless', 'discard', 'dispatched', 'open', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (762880, 1700086400001, '\xaf71681db6acd7c1f771e892faadeed14231302312b018284785c8c06f13735a', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'idempotent', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (763904, 1700086400001, '\xaf71681db6acd7c1f771e892faadeed14231302312b018284785c8c06f13735a', 762880, 'ada', 'invoices', 'file:data', 'create_invoice', 'idempotent', 'discard', 'dispatched', 'open', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (764928, 1700086400001, '\x358fa7884c62b67c3e6855360e4c5a0a28ca2129d6a2ee3dfb8454ec41deb0e9', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'not-run', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (765952, 1700086400001, '\x358fa7884c62b67c3e6855360e4c5a0a28ca2129d6a2ee3dfb8454ec41deb0e9', 764928, 'ada', 'invoices', 'file:data', 'create_invoice', 'not-run', 'unknown', 'dispatched', 'indeterminate', 1, 1, 'panicked', NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (766976, 1700086400001, '\x358fa7884c62b67c3e6855360e4c5a0a28ca2129d6a2ee3dfb8454ec41deb0e9', 765952, 'ada', 'invoices', 'file:data', 'create_invoice', 'not-run', 'resolve', 'indeterminate', 'open', 1, 1, NULL, NULL, 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (768000, 1700086400001, '\xd8a1cd08c34198f896bebe21987e0aa39ba4f9d6aa8348638c2e546b9d6e9188', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'waiting', 'ask', 'absent', 'waiting', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (769024, 1700086400001, '\x2723bda8888a4b548916112ab51a61d6bb169321a85fefaa98fb3c96ae846334', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'approved', 'ask', 'absent', 'waiting', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (770048, 1700086400001, '\x2723bda8888a4b548916112ab51a61d6bb169321a85fefaa98fb3c96ae846334', 769024, 'ada', 'invoices', 'file:data', 'create_invoice', 'approved', 'decide', 'waiting', 'approved', 1, 0, NULL, NULL, 'ada', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', 'client', NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (771072, 1700086400001, '\xba0c798f654ad5576789ea91eb115df8eb0e5126a69db2653d704ddb48a68f1a', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'denied', 'ask', 'absent', 'waiting', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (772096, 1700086400001, '\xba0c798f654ad5576789ea91eb115df8eb0e5126a69db2653d704ddb48a68f1a', 771072, 'ada', 'invoices', 'file:data', 'create_invoice', 'denied', 'decide', 'waiting', 'denied', 1, 0, NULL, NULL, 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', 'operator', 'not on a Friday', 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (773120, 1700086400001, '\xe9e1a5d52b72fc0d868397864f20322feb52754a961c0f8e7e9a9bd32d7e34de', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'claimed', 'claim', 'absent', 'claimed', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (774144, 1700086400001, '\x87c51f41d12479bb18605ceececde661e12698ce92ddcf2f0a02f0e774f54b9e', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'dispatched', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (775168, 1700086400001, '\x6ff9c05bd60ee85af890bbea0ad1ba280866e12fd5c31f3da20887edacb4af12', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'suspended', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (776192, 1700086400001, '\x6ff9c05bd60ee85af890bbea0ad1ba280866e12fd5c31f3da20887edacb4af12', 775168, 'ada', 'invoices', 'file:data', 'create_invoice', 'suspended', 'suspend', 'dispatched', 'suspended', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (777216, 1700086400001, '\x0ab97398a3aae88b901aa2b61f824ed78173798530b61461eae1d57927865905', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'completed', 'ask', 'absent', 'waiting', 1, 0, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (778240, 1700086400001, '\x0ab97398a3aae88b901aa2b61f824ed78173798530b61461eae1d57927865905', 777216, 'ada', 'invoices', 'file:data', 'create_invoice', 'completed', 'decide', 'waiting', 'approved', 1, 0, NULL, NULL, 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', 'operator', NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (779264, 1700086400001, '\x0ab97398a3aae88b901aa2b61f824ed78173798530b61461eae1d57927865905', 778240, 'ada', 'invoices', 'file:data', 'create_invoice', 'completed', 'start', 'approved', 'dispatched', 2, 1, NULL, NULL, 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', 'operator', NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (780288, 1700086400001, '\x0ab97398a3aae88b901aa2b61f824ed78173798530b61461eae1d57927865905', 779264, 'ada', 'invoices', 'file:data', 'create_invoice', 'completed', 'complete', 'dispatched', 'completed', 2, 1, NULL, 'success', NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (781312, 1700086400001, '\x9a989653215bef46ab5df7b970dc37b5407c6c74eead5a08c5f0280682f826eb', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'failed', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (782336, 1700086400001, '\x9a989653215bef46ab5df7b970dc37b5407c6c74eead5a08c5f0280682f826eb', 781312, 'ada', 'invoices', 'file:data', 'create_invoice', 'failed', 'complete', 'dispatched', 'completed', 1, 1, NULL, 'failure', NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (783360, 1700086400001, '\x309803e0fd5d1abeb51860975cb9e5306a9335de46e1c6779c7eb1c92ba747a7', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'omitted', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (784384, 1700086400001, '\x309803e0fd5d1abeb51860975cb9e5306a9335de46e1c6779c7eb1c92ba747a7', 783360, 'ada', 'invoices', 'file:data', 'create_invoice', 'omitted', 'complete', 'dispatched', 'completed', 1, 1, NULL, 'success', NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (785408, 1700086400001, '\x4b2c9022428281635be2ca4d3824194cabdb6c25138a044d1524a9a3fcdbff54', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'resolved', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (786432, 1700086400001, '\x4b2c9022428281635be2ca4d3824194cabdb6c25138a044d1524a9a3fcdbff54', 785408, 'ada', 'invoices', 'file:data', 'create_invoice', 'resolved', 'unknown', 'dispatched', 'indeterminate', 1, 1, 'panicked', NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (787456, 1700086400001, '\x4b2c9022428281635be2ca4d3824194cabdb6c25138a044d1524a9a3fcdbff54', 786432, 'ada', 'invoices', 'file:data', 'create_invoice', 'resolved', 'resolve', 'indeterminate', 'completed', 1, 1, NULL, 'success', 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (788480, 1700086400001, '\xe7a8e83243308a22118d8b5f66cde919d050e6a1e9bf65529132e569b4d12899', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'unknown', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (789504, 1700086400001, '\xe7a8e83243308a22118d8b5f66cde919d050e6a1e9bf65529132e569b4d12899', 788480, 'ada', 'invoices', 'file:data', 'create_invoice', 'unknown', 'unknown', 'dispatched', 'indeterminate', 1, 1, 'panicked', NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (790528, 1700086400001, '\x7318159758d30d875874a2e4cec5ad39360ae3bba4f237ff10d7d5dba73a9d6b', NULL, 'ada', 'invoices', 'file:data', 'create_invoice', 'abandoned', 'start', 'absent', 'dispatched', 1, 1, NULL, NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (791552, 1700086400001, '\x7318159758d30d875874a2e4cec5ad39360ae3bba4f237ff10d7d5dba73a9d6b', 790528, 'ada', 'invoices', 'file:data', 'create_invoice', 'abandoned', 'unknown', 'dispatched', 'indeterminate', 1, 1, 'panicked', NULL, NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (792576, 1700086400001, '\x7318159758d30d875874a2e4cec5ad39360ae3bba4f237ff10d7d5dba73a9d6b', 791552, 'ada', 'invoices', 'file:data', 'create_invoice', 'abandoned', 'resolve', 'indeterminate', 'abandoned', 1, 1, NULL, NULL, 'olga', '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, 'conflict', 'Invoice 17 is paid already.');
INSERT INTO audit VALUES (793600, 1700086400001, NULL, NULL, 'ada', 'invoices', 'file:data', 'create_invoice', NULL, 'grant', NULL, NULL, NULL, NULL, NULL, NULL, 'olga', NULL, NULL, NULL, NULL, 'grant b36ce0f97150cae1385cbde4d2779332', NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (794624, 1700086400001, NULL, NULL, 'ada', 'invoices', 'file:data', 'create_invoice', NULL, 'grant', NULL, NULL, NULL, NULL, NULL, NULL, 'olga', NULL, NULL, NULL, NULL, 'grant d6e79f5132646529534925c1a2fb86a1', NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (795648, 1700086400001, NULL, NULL, 'ada', 'invoices', 'file:data', 'create_invoice', NULL, 'revoke', NULL, NULL, NULL, NULL, NULL, NULL, 'otto', NULL, NULL, NULL, NULL, 'grant d6e79f5132646529534925c1a2fb86a1', NULL, NULL, NULL, NULL);
INSERT INTO audit VALUES (796672, 1700086400001, NULL, NULL, 'ada', 'invoices', 'file:data', 'list_invoices', NULL, 'called', NULL, NULL, NULL, NULL, NULL, 'success', NULL, '{n: number}', '\x0303030303030303030303030303030303030303030303030303030303030303', 'adds', 1250, 'over HTTP', NULL, NULL, NULL, NULL);

INSERT INTO candor_ledger VALUES (1, 4, 0);

INSERT INTO grants VALUES (793600, '\xb36ce0f97150cae1385cbde4d2779332', 'ada', 'invoices', 'file:data', 'create_invoice', 'amount <= 100', 'olga', 1700086400001, 1700087300001, NULL, NULL, '\x0303030303030303030303030303030303030303030303030303030303030303');
INSERT INTO grants VALUES (794624, '\xd6e79f5132646529534925c1a2fb86a1', 'ada', 'invoices', 'file:data', 'create_invoice', 'any', 'olga', 1700086400001, 1700087300001, 'otto', 1700086400001, '\x0303030303030303030303030303030303030303030303030303030303030303');

INSERT INTO records VALUES (754688, '\xc48dcc03067f9b68e0ca1c2a046eeee61915f470514fc5d18f6da639a0a580e9', 'ada', 'invoices', 'file:data', 'create_invoice', 'tombstone', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700000000000, 1700086400001, 756736, 'tombstone', 1702678400000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO records VALUES (758784, '\xf159b7512e85ebb3d01062a6812c7cfa70f1ede0efc161210a8ae50139f1f9e8', 'ada', 'invoices', 'file:data', 'create_invoice', 'open', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 0, false, 1700086400001, 1700086400001, 759808, 'open', 1700172800001, NULL, NULL, 'first', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO records VALUES (760832, '\x90d87bb8323b1e9fae6642d3788a31fbf3c014722787478e3207f54d01f57824', 'ada', 'invoices', 'file:data', 'create_invoice', 'harmless', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 761856, 'open', 1700172800001, NULL, NULL, 'nothing_happened', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'conflict', 'Invoice 17 is paid already.', '\x7b226e223a31377d');
INSERT INTO records VALUES (762880, '\xaf71681db6acd7c1f771e892faadeed14231302312b018284785c8c06f13735a', 'ada', 'invoices', 'file:data', 'create_invoice', 'idempotent', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, true, 1700086400001, 1700086400001, 763904, 'open', 1700172800001, NULL, 1700086400001, 'by_nature', NULL, 'failed', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'conflict', 'Invoice 17 is paid already.', '\x7b226e223a31377d');
INSERT INTO records VALUES (764928, '\x358fa7884c62b67c3e6855360e4c5a0a28ca2129d6a2ee3dfb8454ec41deb0e9', 'ada', 'invoices', 'file:data', 'create_invoice', 'not-run', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 766976, 'open', 1700172800001, NULL, NULL, 'operator', '\x04040404040404040404040404040404', NULL, NULL, 'olga', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (768000, '\xd8a1cd08c34198f896bebe21987e0aa39ba4f9d6aa8348638c2e546b9d6e9188', 'ada', 'invoices', 'file:data', 'create_invoice', 'waiting', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 0, false, 1700086400001, 1700086400001, 768000, 'waiting', 1700172800001, NULL, NULL, 'first', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x6d61792069743f', '\x0303030303030303030303030303030303030303030303030303030303030303', 1700086400001, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (769024, '\x2723bda8888a4b548916112ab51a61d6bb169321a85fefaa98fb3c96ae846334', 'ada', 'invoices', 'file:data', 'create_invoice', 'approved', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 0, false, 1700086400001, 1700086400001, 770048, 'approved', 1700087300001, NULL, NULL, 'first', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x0303030303030303030303030303030303030303030303030303030303030303', 1700086400001, 'ada', 'client', NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (771072, '\xba0c798f654ad5576789ea91eb115df8eb0e5126a69db2653d704ddb48a68f1a', 'ada', 'invoices', 'file:data', 'create_invoice', 'denied', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 0, false, 1700086400001, 1700086400001, 772096, 'denied', 1700173400001, NULL, NULL, 'first', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x0303030303030303030303030303030303030303030303030303030303030303', 1700086400001, 'olga', 'operator', 'not on a Friday', 1700087000001, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (773120, '\xe9e1a5d52b72fc0d868397864f20322feb52754a961c0f8e7e9a9bd32d7e34de', 'ada', 'invoices', 'file:data', 'create_invoice', 'claimed', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 0, true, 1700086400001, 1700086400001, 773120, 'claimed', 1700086430001, '\x08080808080808080808080808080808', NULL, 'first', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO records VALUES (774144, '\x87c51f41d12479bb18605ceececde661e12698ce92ddcf2f0a02f0e774f54b9e', 'ada', 'invoices', 'file:data', 'create_invoice', 'dispatched', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 774144, 'dispatched', 1700086430001, '\x09090909090909090909090909090909', 1700086400001, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (775168, '\x6ff9c05bd60ee85af890bbea0ad1ba280866e12fd5c31f3da20887edacb4af12', 'ada', 'invoices', 'file:data', 'create_invoice', 'suspended', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 776192, 'suspended', 1700090000001, NULL, 1700086400001, NULL, NULL, NULL, 0, NULL, 'success', NULL, NULL, '\x776869636820616464726573733f', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (777216, '\x0ab97398a3aae88b901aa2b61f824ed78173798530b61461eae1d57927865905', 'ada', 'invoices', 'file:data', 'create_invoice', 'completed', '\x0707070707070707070707070707070707070707070707070707070707070707', 2, 1, false, 1700086400001, 1700086400001, 780288, 'completed', 1700172800001, NULL, 1700086400001, NULL, NULL, NULL, NULL, NULL, 'success', NULL, NULL, '\x696e766f6963652034373131', NULL, NULL, NULL, NULL, NULL, NULL, 'conflict', 'Invoice 17 is paid already.', '\x7b226e223a31377d');
INSERT INTO records VALUES (781312, '\x9a989653215bef46ab5df7b970dc37b5407c6c74eead5a08c5f0280682f826eb', 'ada', 'invoices', 'file:data', 'create_invoice', 'failed', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 782336, 'completed', 1700172800001, NULL, 1700086400001, NULL, NULL, NULL, NULL, NULL, 'failure', NULL, NULL, '\x6974206661696c6564', NULL, NULL, NULL, NULL, NULL, NULL, 'conflict', 'Invoice 17 is paid already.', '\x7b226e223a31377d');
INSERT INTO records VALUES (783360, '\x309803e0fd5d1abeb51860975cb9e5306a9335de46e1c6779c7eb1c92ba747a7', 'ada', 'invoices', 'file:data', 'create_invoice', 'omitted', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 784384, 'completed', 1700172800001, NULL, 1700086400001, NULL, NULL, NULL, NULL, NULL, 'success', 65, '\x9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'conflict', 'Invoice 17 is paid already.', '\x7b226e223a31377d');
INSERT INTO records VALUES (785408, '\x4b2c9022428281635be2ca4d3824194cabdb6c25138a044d1524a9a3fcdbff54', 'ada', 'invoices', 'file:data', 'create_invoice', 'resolved', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 787456, 'completed', 1700172800001, NULL, 1700086400001, NULL, NULL, NULL, NULL, 'olga', 'success', NULL, NULL, '\x666f756e64206279206f6c6761', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (788480, '\xe7a8e83243308a22118d8b5f66cde919d050e6a1e9bf65529132e569b4d12899', 'ada', 'invoices', 'file:data', 'create_invoice', 'unknown', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 789504, 'indeterminate', NULL, '\x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f', 1700086400001, NULL, NULL, 'panicked', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '\x7b226e223a31377d');
INSERT INTO records VALUES (790528, '\x7318159758d30d875874a2e4cec5ad39360ae3bba4f237ff10d7d5dba73a9d6b', 'ada', 'invoices', 'file:data', 'create_invoice', 'abandoned', '\x0707070707070707070707070707070707070707070707070707070707070707', 1, 1, false, 1700086400001, 1700086400001, 792576, 'abandoned', 1702764800001, NULL, NULL, NULL, NULL, NULL, NULL, 'olga', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

INSERT INTO usage VALUES ('ada', 13, 16, 159, 472246, 16);

ALTER TABLE ONLY audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY grants
    ADD CONSTRAINT grants_id_key UNIQUE (id);

ALTER TABLE ONLY grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (number);

ALTER TABLE ONLY records
    ADD CONSTRAINT records_id_key UNIQUE (id);

ALTER TABLE ONLY records
    ADD CONSTRAINT records_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (principal, slot);

CREATE INDEX grants_in_force ON grants USING btree (principal, tool, until) WHERE (revoked_at IS NULL);

CREATE INDEX records_lapse ON records USING btree (lapses) WHERE (lapses IS NOT NULL);

CREATE INDEX records_waiting ON records USING btree (last_row) WHERE (state = 'waiting'::text);

CREATE INDEX records_waiting_of ON records USING btree (principal, lapses) WHERE (state = 'waiting'::text);
