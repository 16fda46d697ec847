-- +goose Up
CREATE TABLE meta (
    -- One fact about the database itself: which seal key fits it, the mode of the fleet.
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE devices (
    -- One registered daemon, with its settings beyond the contract.
    id          TEXT    NOT NULL PRIMARY KEY, -- canonical device ID
    label       TEXT    NOT NULL,
    api_key     BLOB    NOT NULL,             -- sealed
    api_address TEXT    NOT NULL,             -- '' means discovery
    api_port    INTEGER NOT NULL,
    mode        TEXT    NOT NULL,             -- on, observe, paused
    allow_plain BOOLEAN NOT NULL,
    pin         TEXT    NOT NULL,             -- sha256:<hex> of the GUI certificate, '' when none is pinned
    created_at  INTEGER NOT NULL,             -- all times: Unix milliseconds, UTC
    updated_at  INTEGER NOT NULL
);

CREATE TABLE templates (
    -- One template as it is now. IDs are never used again.
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    label      TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    op         TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE device_tags (
    -- A device carries a tag now.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag       TEXT NOT NULL,
    PRIMARY KEY (device_id, tag)
);
CREATE INDEX device_tags_by_tag ON device_tags (tag);

CREATE TABLE template_tags (
    -- A template carries a tag now.
    template_id INTEGER NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    PRIMARY KEY (template_id, tag)
);
CREATE INDEX template_tags_by_tag ON template_tags (tag);

CREATE TABLE tag_modes (
    -- The mode of all devices that carry a tag, where it is not "on".
    tag  TEXT NOT NULL PRIMARY KEY,
    mode TEXT NOT NULL
);

CREATE TABLE generations (
    -- One accepted change of a template, its tags or a device's tags.
    number     INTEGER NOT NULL PRIMARY KEY,
    cause      TEXT    NOT NULL,
    created_at INTEGER NOT NULL
);

CREATE TABLE template_history (
    -- A template as it was from this generation on.
    generation  INTEGER NOT NULL REFERENCES generations (number),
    template_id INTEGER NOT NULL,
    deleted     BOOLEAN NOT NULL, -- then the rest is what it was last
    label       TEXT    NOT NULL,
    priority    INTEGER NOT NULL,
    op          TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (template_id, generation)
);

CREATE TABLE device_tag_history (
    -- A device carried a tag, or did no longer, from this generation on.
    generation INTEGER NOT NULL REFERENCES generations (number),
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL,
    carried    BOOLEAN NOT NULL,
    PRIMARY KEY (device_id, tag, generation)
);

CREATE TABLE template_tag_history (
    -- A template carried a tag, or did no longer, from this generation on.
    generation  INTEGER NOT NULL REFERENCES generations (number),
    template_id INTEGER NOT NULL,
    tag         TEXT    NOT NULL,
    carried     BOOLEAN NOT NULL,
    PRIMARY KEY (template_id, tag, generation)
);

CREATE TABLE tokens (
    -- A credential towards Muster, by the hash of its text.
    name         TEXT    NOT NULL PRIMARY KEY,
    role         TEXT    NOT NULL,
    hash         TEXT    NOT NULL UNIQUE, -- SHA-256, hex
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER                  -- NULL: never
);

CREATE TABLE secrets (
    -- A named value that templates can pass on.
    name       TEXT    NOT NULL PRIMARY KEY,
    value      BLOB    NOT NULL, -- sealed
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE audit (
    -- Who did what, and when. Stays when what it was done to is gone.
    id      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    detail  TEXT    NOT NULL
);

CREATE TABLE sightings (
    -- When a device's daemon last answered.
    device_id    TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    last_seen_at INTEGER NOT NULL
);

CREATE TABLE statuses (
    -- What a device's daemon last said about itself.
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL, -- JSON
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE versions (
    -- What software a device last said it runs.
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    body       TEXT    NOT NULL, -- JSON
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE folders (
    -- A device's current configuration has a folder.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    folder    TEXT NOT NULL,
    label     TEXT NOT NULL,
    PRIMARY KEY (device_id, folder)
);
CREATE INDEX folders_by_folder ON folders (folder);

CREATE TABLE summaries (
    -- A device's last numbers of one folder. They count only while the folder is in folders, too.
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    folder     TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (device_id, folder)
);

CREATE TABLE revision_bodies (
    -- A configuration document, once per device however often it comes back.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    digest    TEXT NOT NULL, -- SHA-256 of the normalised document, hex
    document  BLOB NOT NULL, -- sealed, compressed JSON
    PRIMARY KEY (device_id, digest)
);

CREATE TABLE revisions (
    -- A configuration that a device was seen with, in the order of seeing.
    device_id TEXT    NOT NULL,
    number    INTEGER NOT NULL, -- from 1, per device
    digest    TEXT    NOT NULL,
    cause     TEXT    NOT NULL, -- '' when not known
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (device_id, number),
    FOREIGN KEY (device_id, digest) REFERENCES revision_bodies (device_id, digest) ON DELETE CASCADE
);
CREATE INDEX revisions_by_body ON revisions (device_id, digest);

CREATE TABLE intents (
    -- A change to a daemon, recorded before it is sent; its outcome after reading back.
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    device_id   TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation  INTEGER NOT NULL,
    plan_digest TEXT    NOT NULL,
    observed    TEXT    NOT NULL, -- digest of the configuration it was planned from
    writes      BLOB    NOT NULL, -- sealed JSON
    outcome     TEXT    NOT NULL, -- '' while not known
    detail      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER           -- NULL while open
);
CREATE INDEX intents_by_device ON intents (device_id);
CREATE INDEX intents_open ON intents (id) WHERE outcome = '';

CREATE TABLE base_entries (
    -- A key of a device's configuration that Muster wrote, with what was there before. The four values are sealed.
    device_id TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key       TEXT    NOT NULL,
    base      BLOB,             -- NULL: the key was absent
    written   BLOB,             -- NULL: Muster removed it
    intended  BLOB,             -- of an open intent; NULL: it removes the key
    sent      BLOB,             -- keyed digest of the text sent; NULL: none is needed
    templates TEXT    NOT NULL, -- JSON array of template IDs
    state     TEXT    NOT NULL,
    implied   BOOLEAN NOT NULL,
    PRIMARY KEY (device_id, key)
);
