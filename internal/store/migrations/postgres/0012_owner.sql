-- +goose Up
-- What an entry is about, '' for one of an earlier release: it is read as one of the kinds of now.
ALTER TABLE base_entries ADD COLUMN kind TEXT NOT NULL DEFAULT '';
-- Digests of what Muster wrote at the key before, sealed; NULL: none.
ALTER TABLE base_entries ADD COLUMN earlier BYTEA;
-- Of the daemon's configuration that the values are of; 0: not known.
ALTER TABLE base_entries ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
CREATE TABLE consents (
    -- A person's answer to a held change: it may be made once, or what is there is kept.
    id        BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    device_id TEXT   NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key       TEXT   NOT NULL,
    answer    TEXT   NOT NULL, -- consent, keep
    change    TEXT   NOT NULL, -- keyed digest of the change that it is for
    given_by  TEXT   NOT NULL,
    given_at  BIGINT NOT NULL,
    until     BIGINT NOT NULL,
    closed_at BIGINT,          -- NULL while it may still be used
    intent_id BIGINT           -- that used it; NULL: none did
);
CREATE INDEX consents_by_device ON consents (device_id);
CREATE INDEX consents_open ON consents (id) WHERE closed_at IS NULL;
COMMENT ON TABLE consents IS 'A person''s answer to a held change: it may be made once, or what is there is kept.';
