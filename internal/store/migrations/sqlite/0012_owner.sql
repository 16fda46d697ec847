-- +goose Up
-- What an entry is about, '' for one of an earlier release: it is read as one of the kinds of now.
ALTER TABLE base_entries ADD COLUMN kind TEXT NOT NULL DEFAULT '';
-- Digests of what Muster wrote at the key before, sealed; NULL: none.
ALTER TABLE base_entries ADD COLUMN earlier BLOB;
-- Of the daemon's configuration that the values are of; 0: not known.
ALTER TABLE base_entries ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
CREATE TABLE consents (
    -- A person's answer to a held change: it may be made once, or what is there is kept.
    id        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    device_id TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key       TEXT    NOT NULL,
    answer    TEXT    NOT NULL, -- consent, keep
    change    TEXT    NOT NULL, -- keyed digest of the change that it is for
    given_by  TEXT    NOT NULL,
    given_at  INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    closed_at INTEGER,          -- NULL while it may still be used
    intent_id INTEGER           -- that used it; NULL: none did
);
CREATE INDEX consents_by_device ON consents (device_id);
CREATE INDEX consents_open ON consents (id) WHERE closed_at IS NULL;
