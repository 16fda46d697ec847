-- +goose Up
CREATE TABLE enroll_keys (
    -- A key with which devices that are not registered register themselves; its text is not kept.
    id           TEXT    NOT NULL PRIMARY KEY, -- the beginning of its text
    hash         TEXT    NOT NULL UNIQUE,      -- SHA-256 of its text, hex
    tags         TEXT    NOT NULL,             -- JSON list, of each device that it registers
    uses         INTEGER NOT NULL,             -- how many devices it registers
    used         INTEGER NOT NULL,             -- how many it has registered
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER
);

CREATE TABLE enrollment_decisions (
    -- What was decided about a device that is not registered: it was rejected, or it was deleted.
    device_id     TEXT    NOT NULL PRIMARY KEY,
    decision      TEXT    NOT NULL, -- rejected or deleted
    name          TEXT    NOT NULL,
    system        TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    api_port      INTEGER NOT NULL,
    first_seen_at INTEGER,
    last_seen_at  INTEGER,
    decided_by    TEXT    NOT NULL,
    decided_at    INTEGER NOT NULL
);
