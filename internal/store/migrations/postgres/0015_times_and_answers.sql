-- +goose Up
-- Since when the device cannot be reached: until it can, the day that the consent has does not run. NULL: it can be.
ALTER TABLE consents ADD COLUMN unreachable_since BIGINT;
-- How often in a row the daemon answered so; 0 for a stop that does not count answers.
ALTER TABLE stops ADD COLUMN answers BIGINT NOT NULL DEFAULT 0;
-- A stop of an earlier release said by its kind that there were five equal answers.
UPDATE stops SET kind = 'unsaved', answers = 5 WHERE kind = 'unsaveable';
