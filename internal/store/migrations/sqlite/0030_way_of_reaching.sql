-- +goose Up
-- How the daemon may be reached: agent, direct, or blank for either. No proof covers it: each way proves the daemon by itself.
ALTER TABLE devices ADD COLUMN way TEXT NOT NULL DEFAULT '';
