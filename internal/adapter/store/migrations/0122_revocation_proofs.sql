CREATE TABLE revocation_proofs (
    -- What a managed daemon is proven to have of a revoked device. The row goes with the revocation and with the device.
    revoked_id     TEXT    NOT NULL,
    device_id      TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    config_at      INTEGER NOT NULL, -- begin of the reading of a configuration without the revoked device; 0: not proven
    digest         TEXT    NOT NULL, -- of this configuration, '' while it is not proven
    connections_at INTEGER NOT NULL, -- begin of the reading of connections without it; 0: not proven
    returns        INTEGER NOT NULL, -- how often the revoked device was there again after a proof
    returned_at    INTEGER NOT NULL, -- of the newest return; 0: none
    mark           BLOB,             -- keyed mark of the row's content; NULL: the row is not believed
    PRIMARY KEY (revoked_id, device_id)
);
CREATE INDEX revocation_proofs_device ON revocation_proofs (device_id);
