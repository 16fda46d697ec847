-- +goose Up
-- What a template's program reads, as JSON; '' where that was not found yet. A version that reads texts in another way
-- empties the column.
ALTER TABLE templates ADD COLUMN reads TEXT NOT NULL DEFAULT '';
ALTER TABLE template_history ADD COLUMN reads TEXT NOT NULL DEFAULT '';
