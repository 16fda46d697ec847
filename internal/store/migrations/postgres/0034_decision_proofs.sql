-- +goose Up
-- What each decision means, under seal: one that Muster did not write lets no device in. The first start proves the rows
-- of before, once.
ALTER TABLE enrollment_decisions ADD COLUMN proof BYTEA;
