-- +goose Up
-- What causes the revision that the intent makes: restore; '' is template.
ALTER TABLE intents ADD COLUMN cause TEXT NOT NULL DEFAULT '';
