-- +goose Up
-- What decides where the API key goes, under seal: a device whose row Muster did not write is not contacted. The first
-- start proves the rows of before, once.
ALTER TABLE devices ADD COLUMN proof BYTEA;
