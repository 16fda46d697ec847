-- +goose Up
CREATE TABLE action_runs (
    -- An order that daemons are told to carry out: restart, rescan, pause, resume, upgrade.
    id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    action   TEXT    NOT NULL,
    folder   TEXT    NOT NULL, -- of a rescan; '': all
    major    BOOLEAN NOT NULL, -- an upgrade may lead to another major version
    tag      TEXT    NOT NULL, -- '': it is for one device
    devices  TEXT    NOT NULL, -- JSON list of their IDs, in the order in which they are reached
    done     INTEGER NOT NULL, -- of them, from the first
    skipped  TEXT    NOT NULL, -- JSON list of the IDs of those that could not be reached
    status   TEXT    NOT NULL, -- running, done, failed or interrupted
    reason   TEXT    NOT NULL,
    made_by  TEXT    NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER           -- NULL while it runs
);
