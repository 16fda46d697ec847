-- +goose Up
CREATE TABLE rollouts (
    id         BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation BIGINT NOT NULL, -- that its devices are admitted to
    status     TEXT   NOT NULL,
    body       TEXT   NOT NULL, -- JSON
    created_at BIGINT NOT NULL
);
CREATE INDEX rollouts_open ON rollouts (id) WHERE status NOT IN ('undone', 'succeeded', 'superseded');

CREATE TABLE rollout_members (
    rollout_id BIGINT  NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    position   BIGINT  NOT NULL, -- in the order of admission
    wave       BIGINT  NOT NULL, -- from 1; 0: in none
    was        TEXT    NOT NULL, -- how its configuration stood at the start
    errors     TEXT    NOT NULL, -- JSON array of the folders that were in error at the start
    waived     BOOLEAN NOT NULL,
    PRIMARY KEY (rollout_id, device_id)
);
CREATE INDEX rollout_members_by_device ON rollout_members (device_id);

CREATE TABLE holds (
    device_id  TEXT   NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    generation BIGINT NOT NULL,
    rollout_id BIGINT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE
);
CREATE INDEX holds_by_rollout ON holds (rollout_id);

INSERT INTO meta (name, value) SELECT 'settled_generation', CAST(COALESCE(MAX(number), 0) AS TEXT) FROM generations;

CREATE INDEX template_history_by_generation ON template_history (generation);
CREATE INDEX device_tag_history_by_generation ON device_tag_history (generation);
CREATE INDEX template_tag_history_by_generation ON template_tag_history (generation);
CREATE INDEX intents_by_generation ON intents (generation);

COMMENT ON TABLE rollouts IS 'A change on its way to more devices than can be told at once.';
COMMENT ON TABLE rollout_members IS 'A device that a rollout concerns.';
COMMENT ON TABLE holds IS 'A device that is kept at an older generation while a rollout has not admitted it. All others are at the settled one.';
