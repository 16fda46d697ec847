-- +goose Up
CREATE TABLE action_runs (
    id       BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action   TEXT    NOT NULL,
    folder   TEXT    NOT NULL, -- of a rescan; '': all
    major    BOOLEAN NOT NULL, -- an upgrade may lead to another major version
    tag      TEXT    NOT NULL, -- '': it is for one device
    devices  TEXT    NOT NULL, -- JSON list of their IDs, in the order in which they are reached
    done     BIGINT  NOT NULL, -- of them, from the first
    skipped  TEXT    NOT NULL, -- JSON list of the IDs of those that could not be reached
    status   TEXT    NOT NULL, -- running, done, failed or interrupted
    reason   TEXT    NOT NULL,
    made_by  TEXT    NOT NULL,
    began_at BIGINT  NOT NULL,
    ended_at BIGINT            -- NULL while it runs
);
COMMENT ON TABLE action_runs IS 'An order that daemons are told to carry out: restart, rescan, pause, resume, upgrade.';
