-- +goose Up
-- What an entry is about, '' for one of an earlier release: it is read as one of the kinds of now.
ALTER TABLE base_entries ADD COLUMN kind TEXT NOT NULL DEFAULT '';
-- Digests of what Muster wrote at the key before, sealed; NULL: none.
ALTER TABLE base_entries ADD COLUMN earlier BYTEA;
-- Of the daemon's configuration that the values are of; 0: not known.
ALTER TABLE base_entries ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
