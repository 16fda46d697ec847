-- +goose Up
CREATE TABLE stops (
    -- A key of a device's configuration that is not written for now, although templates ask for it.
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key        TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- rejected, unmoved, contended, unstable
    reason     TEXT    NOT NULL,
    observed   TEXT    NOT NULL, -- digest of the configuration that the daemon refused it over, '' when that does not matter
    templates  TEXT    NOT NULL, -- digest of the templates that applied
    stopped_at INTEGER NOT NULL,
    PRIMARY KEY (device_id, key)
);
