-- +goose Up
ALTER TABLE users ADD COLUMN disabled_at BIGINT; -- since then the user cannot log in; NULL: the user can
