-- +goose Up
-- How the device was found when it answered last; blank: not known. A device that came by its agent is given time to
-- come back by it after a restart of the server, before discovery is asked for it.
ALTER TABLE sightings ADD COLUMN found_by TEXT NOT NULL DEFAULT '';
