-- +goose Up
CREATE TABLE protected_tags (
    -- A tag that only an admin puts on a device or takes off.
    tag TEXT NOT NULL PRIMARY KEY
);
