-- +goose Up
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE devices (
    id          TEXT    NOT NULL PRIMARY KEY, -- canonical device ID
    label       TEXT    NOT NULL,
    api_key     BYTEA   NOT NULL,             -- sealed
    api_address TEXT    NOT NULL,             -- '' means discovery
    api_port    BIGINT  NOT NULL,
    mode        TEXT    NOT NULL,             -- on, observe, paused
    allow_plain BOOLEAN NOT NULL,
    pin         TEXT    NOT NULL,             -- sha256:<hex> of the GUI certificate, '' when none is pinned
    created_at  BIGINT  NOT NULL,             -- all times: Unix milliseconds, UTC
    updated_at  BIGINT  NOT NULL
);

CREATE TABLE templates (
    id         BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    label      TEXT    NOT NULL,
    priority   BIGINT  NOT NULL,
    op         TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL
);

CREATE TABLE device_tags (
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag       TEXT NOT NULL,
    PRIMARY KEY (device_id, tag)
);
CREATE INDEX device_tags_by_tag ON device_tags (tag);

CREATE TABLE template_tags (
    template_id BIGINT  NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    PRIMARY KEY (template_id, tag)
);
CREATE INDEX template_tags_by_tag ON template_tags (tag);

CREATE TABLE tag_modes (
    tag  TEXT NOT NULL PRIMARY KEY,
    mode TEXT NOT NULL
);

CREATE TABLE generations (
    number     BIGINT  NOT NULL PRIMARY KEY,
    cause      TEXT    NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE TABLE template_history (
    generation  BIGINT  NOT NULL REFERENCES generations (number),
    template_id BIGINT  NOT NULL,
    deleted     BOOLEAN NOT NULL, -- then the rest is what it was last
    label       TEXT    NOT NULL,
    priority    BIGINT  NOT NULL,
    op          TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL,
    PRIMARY KEY (template_id, generation)
);

CREATE TABLE device_tag_history (
    generation BIGINT  NOT NULL REFERENCES generations (number),
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL,
    carried    BOOLEAN NOT NULL,
    PRIMARY KEY (device_id, tag, generation)
);

CREATE TABLE template_tag_history (
    generation  BIGINT  NOT NULL REFERENCES generations (number),
    template_id BIGINT  NOT NULL,
    tag         TEXT    NOT NULL,
    carried     BOOLEAN NOT NULL,
    PRIMARY KEY (template_id, tag, generation)
);

CREATE TABLE tokens (
    name         TEXT    NOT NULL PRIMARY KEY,
    role         TEXT    NOT NULL,
    hash         TEXT    NOT NULL UNIQUE, -- SHA-256, hex
    created_at   BIGINT  NOT NULL,
    last_used_at BIGINT                    -- NULL: never
);

CREATE TABLE secrets (
    name       TEXT    NOT NULL PRIMARY KEY,
    value      BYTEA   NOT NULL, -- sealed
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL
);

CREATE TABLE audit (
    id      BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      BIGINT  NOT NULL,
    who     TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
);

CREATE TABLE sightings (
    device_id    TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    last_seen_at BIGINT  NOT NULL
);

CREATE TABLE statuses (
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL, -- JSON
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL
);

CREATE TABLE versions (
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL, -- JSON
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL
);

CREATE TABLE folders (
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    folder    TEXT NOT NULL,
    label     TEXT NOT NULL,
    PRIMARY KEY (device_id, folder)
);
CREATE INDEX folders_by_folder ON folders (folder);

CREATE TABLE summaries (
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    folder     TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    created_at BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL,
    PRIMARY KEY (device_id, folder)
);

CREATE TABLE revision_bodies (
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    digest    TEXT NOT NULL, -- SHA-256 of the normalised document, hex
    document  BYTEA NOT NULL, -- sealed, compressed JSON
    PRIMARY KEY (device_id, digest)
);

CREATE TABLE revisions (
    device_id TEXT    NOT NULL,
    number    BIGINT  NOT NULL, -- from 1, per device
    digest    TEXT    NOT NULL,
    cause     TEXT    NOT NULL, -- '' when not known
    seen_at   BIGINT  NOT NULL,
    PRIMARY KEY (device_id, number),
    FOREIGN KEY (device_id, digest) REFERENCES revision_bodies (device_id, digest) ON DELETE CASCADE
);
CREATE INDEX revisions_by_body ON revisions (device_id, digest);

CREATE TABLE intents (
    id          BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    device_id   TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation  BIGINT  NOT NULL,
    plan_digest TEXT    NOT NULL,
    observed    TEXT    NOT NULL, -- digest of the configuration it was planned from
    writes      BYTEA   NOT NULL, -- sealed JSON
    outcome     TEXT    NOT NULL, -- '' while not known
    detail      TEXT    NOT NULL,
    created_at  BIGINT  NOT NULL,
    finished_at BIGINT            -- NULL while open
);
CREATE INDEX intents_by_device ON intents (device_id);
CREATE INDEX intents_open ON intents (id) WHERE outcome = '';

CREATE TABLE base_entries (
    device_id TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key       TEXT    NOT NULL,
    base      BYTEA,             -- NULL: the key was absent
    written   BYTEA,             -- NULL: Muster removed it
    intended  BYTEA,             -- of an open intent; NULL: it removes the key
    sent      BYTEA,             -- keyed digest of the text sent; NULL: none is needed
    templates TEXT    NOT NULL, -- JSON array of template IDs
    state     TEXT    NOT NULL,
    implied   BOOLEAN NOT NULL,
    PRIMARY KEY (device_id, key)
);

COMMENT ON TABLE meta IS 'One fact about the database itself: which seal key fits it, the mode of the fleet.';
COMMENT ON TABLE devices IS 'One registered daemon, with its settings beyond the contract.';
COMMENT ON TABLE templates IS 'One template as it is now. IDs are never used again.';
COMMENT ON TABLE device_tags IS 'A device carries a tag now.';
COMMENT ON TABLE template_tags IS 'A template carries a tag now.';
COMMENT ON TABLE tag_modes IS 'The mode of all devices that carry a tag, where it is not "on".';
COMMENT ON TABLE generations IS 'One accepted change of a template, its tags or a device''s tags.';
COMMENT ON TABLE template_history IS 'A template as it was from this generation on.';
COMMENT ON TABLE device_tag_history IS 'A device carried a tag, or did no longer, from this generation on.';
COMMENT ON TABLE template_tag_history IS 'A template carried a tag, or did no longer, from this generation on.';
COMMENT ON TABLE tokens IS 'A credential towards Muster, by the hash of its text.';
COMMENT ON TABLE secrets IS 'A named value that templates can pass on.';
COMMENT ON TABLE audit IS 'Who did what, and when. Stays when what it was done to is gone.';
COMMENT ON TABLE sightings IS 'When a device''s daemon last answered.';
COMMENT ON TABLE statuses IS 'What a device''s daemon last said about itself.';
COMMENT ON TABLE versions IS 'What software a device last said it runs.';
COMMENT ON TABLE folders IS 'A device''s current configuration has a folder.';
COMMENT ON TABLE summaries IS 'A device''s last numbers of one folder. They count only while the folder is in folders, too.';
COMMENT ON TABLE revision_bodies IS 'A configuration document, once per device however often it comes back.';
COMMENT ON TABLE revisions IS 'A configuration that a device was seen with, in the order of seeing.';
COMMENT ON TABLE intents IS 'A change to a daemon, recorded before it is sent; its outcome after reading back.';
COMMENT ON TABLE base_entries IS 'A key of a device''s configuration that Muster wrote, with what was there before. The four values are sealed.';
