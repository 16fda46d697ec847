CREATE TABLE revocations (
    -- A device that is out for good. It is about a device ID, so the row stays when the device is deleted.
    device_id  TEXT    NOT NULL PRIMARY KEY,
    label      TEXT    NOT NULL, -- label of the device when it was revoked, '' where it had none
    reason     TEXT    NOT NULL, -- text for people
    revoked_by TEXT    NOT NULL, -- name of the person or token
    revoked_at INTEGER NOT NULL,
    mark       BLOB              -- keyed mark of the row's content; NULL: the row is not believed
);
