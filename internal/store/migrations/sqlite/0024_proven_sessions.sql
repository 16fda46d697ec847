-- +goose Up
-- What the row means, under seal: a row that Muster did not write lets no one in. NULL in rows of before: their users
-- log in again.
ALTER TABLE sessions ADD COLUMN proof BLOB;
ALTER TABLE login_links ADD COLUMN proof BLOB;
