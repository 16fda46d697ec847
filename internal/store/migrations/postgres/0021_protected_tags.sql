-- +goose Up
CREATE TABLE protected_tags (
    tag TEXT NOT NULL PRIMARY KEY
);
COMMENT ON TABLE protected_tags IS 'A tag that only an admin puts on a device or takes off.';
