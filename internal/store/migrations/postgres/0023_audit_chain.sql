-- +goose Up
-- Each entry carries the hash of the one before. Those that are there are chained at the first start, in one
-- transaction with the first proofs: SQL alone cannot hash.
ALTER TABLE audit ADD COLUMN previous TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN hash TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_by_subject ON audit (subject, id);
CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_heads (
    -- A signed statement of how the audit ended at a time.
    audit_id  BIGINT NOT NULL PRIMARY KEY, -- of the last entry then
    hash      TEXT   NOT NULL,             -- of that entry
    signed_at BIGINT NOT NULL,
    signature BYTEA  NOT NULL              -- Ed25519
);
COMMENT ON TABLE audit_heads IS 'A signed statement of how the audit ended at a time.';

CREATE TABLE proofs (
    -- A sealed fact that shows whether other rows are as Muster wrote them.
    name TEXT  NOT NULL PRIMARY KEY,
    body BYTEA NOT NULL -- sealed JSON
);
COMMENT ON TABLE proofs IS 'A sealed fact that shows whether other rows are as Muster wrote them.';
