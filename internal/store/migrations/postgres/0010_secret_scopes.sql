-- +goose Up
-- JSON arrays: the keys and tags that a secret is for. Without any, only templates that an admin saved may use it.
ALTER TABLE secrets ADD COLUMN for_keys TEXT NOT NULL DEFAULT '[]';
ALTER TABLE secrets ADD COLUMN for_tags TEXT NOT NULL DEFAULT '[]';
