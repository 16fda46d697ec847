-- +goose Up
-- The tags of the devices that a user sees and touches, a JSON list; NULL: the whole fleet.
ALTER TABLE users ADD COLUMN tag_scope TEXT;
