-- +goose Up
ALTER TABLE users ADD COLUMN disabled_at INTEGER; -- since then the user cannot log in; NULL: the user can
