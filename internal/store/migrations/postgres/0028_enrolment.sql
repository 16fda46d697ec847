-- +goose Up
CREATE TABLE enroll_keys (
    id           TEXT    NOT NULL PRIMARY KEY, -- the beginning of its text
    hash         TEXT    NOT NULL UNIQUE,      -- SHA-256 of its text, hex
    tags         TEXT    NOT NULL,             -- JSON list, of each device that it registers
    uses         BIGINT  NOT NULL, -- how many devices it registers
    used         BIGINT  NOT NULL, -- how many it has registered
    created_by   TEXT    NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE TABLE enrollment_decisions (
    device_id     TEXT    NOT NULL PRIMARY KEY,
    decision      TEXT    NOT NULL, -- rejected or deleted
    name          TEXT    NOT NULL,
    system        TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    api_port      BIGINT NOT NULL,
    first_seen_at BIGINT,
    last_seen_at  BIGINT,
    decided_by    TEXT    NOT NULL,
    decided_at    BIGINT NOT NULL
);
COMMENT ON TABLE enroll_keys IS 'A key with which devices that are not registered register themselves; its text is not kept.';
COMMENT ON TABLE enrollment_decisions IS 'What was decided about a device that is not registered: it was rejected, or it was deleted.';
