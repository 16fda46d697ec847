-- +goose Up
-- The run of the daemon that shows what Muster sent, as long as it is not known whether the daemon has saved it.
ALTER TABLE base_entries ADD COLUMN run TEXT NOT NULL DEFAULT '';
