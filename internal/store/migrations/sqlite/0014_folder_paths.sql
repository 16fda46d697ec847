-- +goose Up
CREATE TABLE folder_paths (
    -- Where folders of a device were ever seen: what was synced there stays, symbolic links of other devices as well.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,
    PRIMARY KEY (device_id, path)
);
