-- +goose Up
-- How the device came to its pin: '' (it has none), 'firstUse', 'given' or 'forgotten'. What was kept before this version
-- counts as trusted on first use.
ALTER TABLE devices ADD COLUMN pin_origin TEXT NOT NULL DEFAULT '';
UPDATE devices SET pin_origin = 'firstUse' WHERE pin <> '';

CREATE TABLE certificates (
    device_id   TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    fingerprint TEXT   NOT NULL, -- sha256:<hex>
    not_before  BIGINT NOT NULL,
    not_after   BIGINT NOT NULL
);

COMMENT ON TABLE certificates IS 'The certificate of its API behind which a device answered last.';
