-- +goose Up
-- Whether a template that an admin saved makes the member, or made it once: templates of authors do not share it further.
ALTER TABLE base_entries ADD COLUMN by_admin BOOLEAN NOT NULL DEFAULT FALSE;
