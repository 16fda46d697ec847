-- +goose Up
CREATE TABLE device_vars (
    device_id  TEXT NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    vars       BYTEA NOT NULL, -- sealed JSON object
    saved_by   TEXT NOT NULL,
    saved_role TEXT NOT NULL
);
CREATE TABLE tag_vars (
    tag        TEXT NOT NULL PRIMARY KEY,
    vars       BYTEA NOT NULL, -- sealed JSON object
    saved_by   TEXT NOT NULL,
    saved_role TEXT NOT NULL
);
CREATE TABLE device_vars_history (
    generation BIGINT  NOT NULL REFERENCES generations (number),
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    vars       BYTEA   NOT NULL, -- sealed JSON object, sealed nothing where there are none
    saved_by   TEXT    NOT NULL,
    saved_role TEXT    NOT NULL,
    PRIMARY KEY (device_id, generation)
);
CREATE INDEX device_vars_history_by_generation ON device_vars_history (generation);
CREATE TABLE tag_vars_history (
    generation BIGINT  NOT NULL REFERENCES generations (number),
    tag        TEXT    NOT NULL,
    vars       BYTEA   NOT NULL, -- sealed JSON object, sealed nothing where there are none
    saved_by   TEXT    NOT NULL,
    saved_role TEXT    NOT NULL,
    PRIMARY KEY (tag, generation)
);
CREATE INDEX tag_vars_history_by_generation ON tag_vars_history (generation);
COMMENT ON TABLE device_vars IS 'Values that templates read of a device. Without a row it has none of its own.';
COMMENT ON TABLE tag_vars IS 'Values that templates read of the devices with a tag. They stay while nothing carries it.';
COMMENT ON TABLE device_vars_history IS 'The vars of a device as they were from this generation on.';
COMMENT ON TABLE tag_vars_history IS 'The vars of a tag as they were from this generation on.';
