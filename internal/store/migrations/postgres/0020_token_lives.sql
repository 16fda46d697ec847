-- +goose Up
-- The tags of the devices that a token is for, a JSON list; NULL: the whole fleet.
ALTER TABLE tokens ADD COLUMN tag_scope TEXT;
-- When the present text was made; NULL: with the token.
ALTER TABLE tokens ADD COLUMN issued_at BIGINT;
-- NULL: never.
ALTER TABLE tokens ADD COLUMN expires_at BIGINT;
-- The text before the last rotation, SHA-256, hex, and until when it counts; NULL: there is none.
ALTER TABLE tokens ADD COLUMN old_hash TEXT;
ALTER TABLE tokens ADD COLUMN old_until BIGINT;
-- The address, without port; blank: not known.
ALTER TABLE tokens ADD COLUMN last_used_from TEXT NOT NULL DEFAULT '';
