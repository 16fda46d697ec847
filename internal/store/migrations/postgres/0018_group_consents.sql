-- +goose Up
CREATE TABLE group_consents (
    -- A person's answer to equal held changes of the members of a rollout, also of members that do not have them yet.
    id         BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    rollout_id BIGINT  NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    key        TEXT    NOT NULL, -- with * for a registered device; '' with removals
    change     TEXT    NOT NULL, -- keyed group digest of the changes; '' with removals
    answer     TEXT    NOT NULL, -- consent, keep
    removals   BOOLEAN NOT NULL, -- for whatever an undo takes away or creates again
    given_by   TEXT    NOT NULL,
    given_at   BIGINT  NOT NULL
);
CREATE INDEX group_consents_by_rollout ON group_consents (rollout_id);
COMMENT ON TABLE group_consents IS 'A person''s answer to equal held changes of the members of a rollout, also of members that do not have them yet.';

-- The group consent that a consent was made from; NULL: it was given for the device itself.
ALTER TABLE consents ADD COLUMN group_id BIGINT;
-- A device uses a group consent once for each key.
CREATE UNIQUE INDEX consents_by_group ON consents (group_id, device_id, key);
