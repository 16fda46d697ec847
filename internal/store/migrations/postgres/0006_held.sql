-- +goose Up
-- JSON array: keyed digests of the changes that waited for a person at the start, or were never to be made.
ALTER TABLE rollout_members ADD COLUMN held TEXT NOT NULL DEFAULT '[]';
