-- +goose Up
-- Whether Muster may restart the daemon after a change that needs it.
ALTER TABLE devices ADD COLUMN may_restart BOOLEAN NOT NULL DEFAULT FALSE;
