-- +goose Up
-- Each entry carries the hash of the one before. Those that are there are chained at the first start, in one
-- transaction with the first proofs: SQL alone cannot hash.
ALTER TABLE audit ADD COLUMN previous TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN hash TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_by_subject ON audit (subject, id);
CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_heads (
    -- A signed statement of how the audit ended at a time.
    audit_id  INTEGER NOT NULL PRIMARY KEY, -- of the last entry then
    hash      TEXT    NOT NULL,             -- of that entry
    signed_at INTEGER NOT NULL,
    signature BLOB    NOT NULL              -- Ed25519
);

CREATE TABLE proofs (
    -- A sealed fact that shows whether other rows are as Muster wrote them.
    name TEXT NOT NULL PRIMARY KEY,
    body BLOB NOT NULL -- sealed JSON
);
