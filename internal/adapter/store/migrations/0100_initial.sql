-- The tables of Muster 0.1.0, for SQLite and PostgreSQL: dialect.go says how PostgreSQL spells the types. The first
-- line of each table says what a row of it is. All times are Unix milliseconds, UTC.

CREATE TABLE meta (
    -- One fact about the database itself, such as the mode of the fleet.
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO meta (name, value) VALUES ('settled_generation', '0');

CREATE TABLE own_keys (
    -- A key that Muster made for a purpose of its own. It stays when the seal key is replaced.
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL -- sealed
);

CREATE TABLE proofs (
    -- A sealed fact that shows whether other rows are as Muster wrote them.
    name TEXT NOT NULL PRIMARY KEY,
    body BLOB NOT NULL -- sealed JSON
);

-- What people register.

CREATE TABLE devices (
    -- One registered device, with its settings.
    id          TEXT    NOT NULL PRIMARY KEY, -- canonical device ID
    label       TEXT    NOT NULL,
    api_key     BLOB    NOT NULL,             -- sealed
    api_address TEXT    NOT NULL,             -- '': by discovery
    api_port    INTEGER NOT NULL,
    way         TEXT    NOT NULL,             -- how the daemon may be reached: agent, direct; '': either
    mode        TEXT    NOT NULL,             -- on, observe, paused
    allow_plain BOOLEAN NOT NULL,
    may_restart BOOLEAN NOT NULL,             -- Muster may restart the daemon after a change that needs it
    pin         TEXT    NOT NULL,             -- sha256:<hex> of the GUI certificate; '': none
    pin_origin  TEXT    NOT NULL,             -- firstUse, given, forgotten; '': it has no pin
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    proof       BLOB                          -- sealed; NULL: the row was altered, an admin has to trust it
);

CREATE TABLE device_tags (
    -- A device carries a tag now.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag       TEXT NOT NULL,
    PRIMARY KEY (device_id, tag)
);
CREATE INDEX device_tags_by_tag ON device_tags (tag);

CREATE TABLE device_vars (
    -- The values that templates read of a device. A device without a row has none of its own.
    device_id  TEXT NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    vars       BLOB NOT NULL, -- sealed JSON object
    saved_by   TEXT NOT NULL,
    saved_role TEXT NOT NULL
);

CREATE TABLE tag_modes (
    -- The mode of all devices that carry a tag, where it is not "on".
    tag  TEXT NOT NULL PRIMARY KEY,
    mode TEXT NOT NULL
);

CREATE TABLE tag_vars (
    -- The values that templates read of the devices with a tag. They stay while nothing carries it.
    tag        TEXT NOT NULL PRIMARY KEY,
    vars       BLOB NOT NULL, -- sealed JSON object
    saved_by   TEXT NOT NULL,
    saved_role TEXT NOT NULL
);

CREATE TABLE protected_tags (
    -- A tag that only an admin puts on a device or takes off.
    tag TEXT NOT NULL PRIMARY KEY
);

CREATE TABLE folder_roots (
    -- A directory below which templates of authors may put folders, on every device or on those with a tag.
    tag  TEXT NOT NULL, -- '': of the fleet
    path TEXT NOT NULL,
    PRIMARY KEY (tag, path)
);
INSERT INTO folder_roots (tag, path) VALUES ('', '~/Sync');

CREATE TABLE templates (
    -- One template as it is now. IDs are never used again.
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    label      TEXT    NOT NULL,
    priority   INTEGER NOT NULL,
    op         TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    text       BLOB    NOT NULL, -- sealed: it may hold a literal secret
    reads      TEXT    NOT NULL, -- JSON: what the program reads; '': not known
    saved_by   TEXT    NOT NULL,
    saved_role TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

CREATE TABLE template_tags (
    -- A template carries a tag now.
    template_id INTEGER NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    PRIMARY KEY (template_id, tag)
);
CREATE INDEX template_tags_by_tag ON template_tags (tag);

CREATE TABLE sources (
    -- Where files with templates come from: a repository, as a rule.
    name       TEXT    NOT NULL PRIMARY KEY,
    read_only  BOOLEAN NOT NULL, -- its templates are changed by its files alone
    assertions TEXT    NOT NULL  -- JSON array: what every change has to keep true
);

CREATE TABLE template_origins (
    -- The file that a template came from. The row outlives the template: an undo brings it back with its ID.
    template_id INTEGER NOT NULL PRIMARY KEY,
    source      TEXT    NOT NULL, -- '': files without a source
    name        TEXT    NOT NULL  -- of the file, without its ending
);

CREATE TABLE secrets (
    -- A named value that templates can pass on.
    name       TEXT    NOT NULL PRIMARY KEY,
    value      BLOB    NOT NULL, -- sealed
    for_keys   TEXT    NOT NULL, -- JSON arrays: the keys and tags that it is for. Without any, only templates that an
    for_tags   TEXT    NOT NULL, -- admin saved may use it
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
);

-- Generations: what was registered at any time.

CREATE TABLE generations (
    -- One accepted change of a template, its tags, a device's tags or vars.
    number     INTEGER NOT NULL PRIMARY KEY,
    cause      TEXT    NOT NULL,
    made_by    TEXT    NOT NULL,
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
    text        BLOB    NOT NULL, -- sealed
    reads       TEXT    NOT NULL,
    saved_by    TEXT    NOT NULL,
    saved_role  TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (template_id, generation)
);
CREATE INDEX template_history_by_generation ON template_history (generation);

CREATE TABLE template_tag_history (
    -- From this generation on a template carried a tag, or no longer carried it.
    generation  INTEGER NOT NULL REFERENCES generations (number),
    template_id INTEGER NOT NULL,
    tag         TEXT    NOT NULL,
    carried     BOOLEAN NOT NULL,
    PRIMARY KEY (template_id, tag, generation)
);
CREATE INDEX template_tag_history_by_generation ON template_tag_history (generation);

CREATE TABLE device_tag_history (
    -- From this generation on a device carried a tag, or no longer carried it.
    generation INTEGER NOT NULL REFERENCES generations (number),
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    tag        TEXT    NOT NULL,
    carried    BOOLEAN NOT NULL,
    PRIMARY KEY (device_id, tag, generation)
);
CREATE INDEX device_tag_history_by_generation ON device_tag_history (generation);

CREATE TABLE device_vars_history (
    -- The vars of a device as they were from this generation on.
    generation INTEGER NOT NULL REFERENCES generations (number),
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    vars       BLOB    NOT NULL, -- sealed JSON object; an empty text, sealed: it had none
    saved_by   TEXT    NOT NULL,
    saved_role TEXT    NOT NULL,
    PRIMARY KEY (device_id, generation)
);
CREATE INDEX device_vars_history_by_generation ON device_vars_history (generation);

CREATE TABLE tag_vars_history (
    -- The vars of a tag as they were from this generation on.
    generation INTEGER NOT NULL REFERENCES generations (number),
    tag        TEXT    NOT NULL,
    vars       BLOB    NOT NULL, -- sealed JSON object; an empty text, sealed: it had none
    saved_by   TEXT    NOT NULL,
    saved_role TEXT    NOT NULL,
    PRIMARY KEY (tag, generation)
);
CREATE INDEX tag_vars_history_by_generation ON tag_vars_history (generation);

-- Who may come in, and what they did.

CREATE TABLE tokens (
    -- A credential of a program, by the hash of its text.
    name           TEXT    NOT NULL PRIMARY KEY,
    role           TEXT    NOT NULL,
    tag_scope      TEXT,                    -- JSON array: tags of the devices that it is for; NULL: the whole fleet
    hash           TEXT    NOT NULL UNIQUE, -- SHA-256, hex
    created_at     INTEGER NOT NULL,
    issued_at      INTEGER NOT NULL,        -- when its present text was made
    expires_at     INTEGER,                 -- NULL: never
    old_hash       TEXT,                    -- of its text before the last rotation; NULL: none
    old_until      INTEGER,                 -- until then the old text counts
    last_used_at   INTEGER,                 -- NULL: never
    last_used_from TEXT    NOT NULL         -- an address without port; '': not known
);

CREATE TABLE users (
    -- A person who logs in, with a password or by single sign-on.
    name          TEXT    NOT NULL PRIMARY KEY, -- lower case
    role          TEXT    NOT NULL,
    tag_scope     TEXT,                         -- JSON array: tags of the devices that the person sees; NULL: all
    password      TEXT    NOT NULL,             -- argon2id hash in PHC form; '': none
    issuer        TEXT    NOT NULL,             -- the provider of single sign-on; '': the person has a password
    subject       TEXT    NOT NULL,             -- who the person is there
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,             -- of the role or the password
    last_login_at INTEGER,                      -- NULL: never
    disabled_at   INTEGER                       -- since then the person cannot log in; NULL: the person can
);
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject) WHERE subject <> '';

CREATE TABLE sessions (
    -- A log-in of a user, by the hash of its token.
    id               TEXT    NOT NULL PRIMARY KEY, -- shown to people; no credential
    user_name        TEXT    NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    hash             TEXT    NOT NULL UNIQUE,      -- SHA-256, hex
    previous_hash    TEXT    NOT NULL,             -- of the token before the last rotation; '': none
    provider_session TEXT    NOT NULL,             -- SHA-256, hex, of the session at the sign-on provider; '': none
    created_at       INTEGER NOT NULL,
    rotated_at       INTEGER NOT NULL,             -- when the token was made
    last_used_at     INTEGER NOT NULL,             -- exact to a minute
    expires_at       INTEGER NOT NULL,             -- the latest end
    address          TEXT    NOT NULL,             -- of the client that logged in
    client           TEXT    NOT NULL,             -- what the client calls itself
    proof            BLOB    NOT NULL              -- sealed
);
CREATE INDEX sessions_by_user ON sessions (user_name);
CREATE INDEX sessions_by_previous_hash ON sessions (previous_hash);

CREATE TABLE login_links (
    -- A link that sets a password once, by the hash of its code.
    hash       TEXT    NOT NULL PRIMARY KEY, -- SHA-256, hex
    user_name  TEXT    NOT NULL,             -- '': a new administrator
    made_by    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    proof      BLOB    NOT NULL              -- sealed
);

CREATE TABLE used_sign_ons (
    -- An attempt at single sign-on that a session was started for: it starts no other.
    hash       TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of the attempt, hex
    expires_at INTEGER NOT NULL              -- when the attempt is too old anyway
);

CREATE TABLE enroll_keys (
    -- A key with which devices that are not registered register themselves; its text is not kept.
    id           TEXT    NOT NULL PRIMARY KEY, -- the beginning of its text
    hash         TEXT    NOT NULL UNIQUE,      -- SHA-256 of its text, hex
    tags         TEXT    NOT NULL,             -- JSON array, of each device that it registers
    uses         INTEGER NOT NULL,             -- how many devices it registers
    used         INTEGER NOT NULL,             -- how many it has registered
    created_by   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER                       -- NULL: never
);

CREATE TABLE enrollment_decisions (
    -- What was decided about a device that is not registered: it was rejected, or it was deleted.
    device_id     TEXT    NOT NULL PRIMARY KEY, -- '': about every device
    decision      TEXT    NOT NULL,             -- rejected, deleted
    name          TEXT    NOT NULL,
    system        TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    address       TEXT    NOT NULL,
    api_port      INTEGER NOT NULL,
    first_seen_at INTEGER,
    last_seen_at  INTEGER,
    decided_by    TEXT    NOT NULL,
    decided_at    INTEGER NOT NULL,
    proof         BLOB                          -- sealed; NULL: the row was altered
);

CREATE TABLE audit (
    -- Who did what, and when. The row stays when what it was done to is gone.
    id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at       INTEGER NOT NULL,
    who      TEXT    NOT NULL,
    what     TEXT    NOT NULL,
    subject  TEXT    NOT NULL,
    detail   TEXT    NOT NULL,
    previous TEXT    NOT NULL, -- the hash of the entry before
    hash     TEXT    NOT NULL
);
CREATE INDEX audit_by_subject ON audit (subject, id);
CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_heads (
    -- A signed statement of how the audit ended at a time.
    audit_id  INTEGER NOT NULL PRIMARY KEY, -- of the last entry then
    hash      TEXT    NOT NULL,             -- of that entry
    signed_at INTEGER NOT NULL,
    signature BLOB    NOT NULL              -- Ed25519
);

-- What daemons last said.

CREATE TABLE sightings (
    -- When a device's daemon last answered, and how it was found then.
    device_id    TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    last_seen_at INTEGER NOT NULL,
    found_by     TEXT    NOT NULL -- '': not known
);

CREATE TABLE certificates (
    -- The certificate of its API behind which a device answered last.
    device_id   TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    fingerprint TEXT    NOT NULL, -- sha256:<hex>
    not_before  INTEGER NOT NULL,
    not_after   INTEGER NOT NULL
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

CREATE TABLE folder_paths (
    -- A path where a folder of a device was ever seen: what was synced there stays, symbolic links included.
    device_id TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    path      TEXT NOT NULL,
    PRIMARY KEY (device_id, path)
);

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
    cause     TEXT    NOT NULL, -- '': not known
    seen_at   INTEGER NOT NULL,
    PRIMARY KEY (device_id, number),
    FOREIGN KEY (device_id, digest) REFERENCES revision_bodies (device_id, digest) ON DELETE CASCADE
);
CREATE INDEX revisions_by_body ON revisions (device_id, digest);

-- What Muster writes to daemons.

CREATE TABLE intents (
    -- A change to a daemon, recorded before it is sent; its outcome after reading back.
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    device_id   TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    generation  INTEGER NOT NULL,
    plan_digest TEXT    NOT NULL,
    observed    TEXT    NOT NULL, -- digest of the configuration it was planned from
    cause       TEXT    NOT NULL, -- of the revision that it makes: restore; '': template
    writes      BLOB    NOT NULL, -- sealed JSON
    outcome     TEXT    NOT NULL, -- '': not known yet
    detail      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER           -- NULL: it is open
);
CREATE INDEX intents_by_device ON intents (device_id);
CREATE INDEX intents_by_generation ON intents (generation);
CREATE INDEX intents_open ON intents (id) WHERE outcome = '';

CREATE TABLE base_entries (
    -- A key of a device's configuration that Muster wrote, with what was there before.
    device_id TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key       TEXT    NOT NULL,
    kind      TEXT    NOT NULL, -- leaf, made, removed, person, daemon
    base      BLOB,             -- sealed; NULL: the key was absent
    written   BLOB,             -- sealed; NULL: Muster removed it
    intended  BLOB,             -- sealed, of an open intent; NULL: it removes the key
    earlier   BLOB,             -- sealed digests of what Muster wrote at the key before; NULL: nothing
    sent      BLOB,             -- sealed keyed digest of the text sent; NULL: none is needed
    version   INTEGER NOT NULL, -- of the daemon's configuration that the values are of; 0: not known
    templates TEXT    NOT NULL, -- JSON array of template IDs
    state     TEXT    NOT NULL,
    run       TEXT    NOT NULL, -- of the daemon that shows what was sent and may not have saved it; '': it has
    implied   BOOLEAN NOT NULL,
    by_admin  BOOLEAN NOT NULL, -- a template that an admin saved makes the member, or made it once
    PRIMARY KEY (device_id, key)
);

CREATE TABLE stops (
    -- A key of a device's configuration that is not written for now, although templates ask for it.
    device_id  TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key        TEXT    NOT NULL,
    kind       TEXT    NOT NULL, -- rejected, unmoved, contended, unstable, unsaved
    reason     TEXT    NOT NULL,
    observed   TEXT    NOT NULL, -- digest of the configuration that the daemon refused it over; '': it does not matter
    templates  TEXT    NOT NULL, -- digest of the templates that applied
    stopped_at INTEGER NOT NULL,
    answers    INTEGER NOT NULL, -- how often in a row the daemon answered so; 0: answers are not counted
    PRIMARY KEY (device_id, key)
);

CREATE TABLE rollouts (
    -- A change on its way to its devices, in waves.
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    generation INTEGER NOT NULL, -- that its devices are admitted to
    status     TEXT    NOT NULL,
    body       TEXT    NOT NULL, -- JSON
    created_at INTEGER NOT NULL
);
CREATE INDEX rollouts_open ON rollouts (id) WHERE status NOT IN ('undone', 'succeeded', 'superseded');

CREATE TABLE rollout_members (
    -- A device that a rollout concerns.
    rollout_id      INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    device_id       TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    position        INTEGER NOT NULL, -- in the order of admission
    wave            INTEGER NOT NULL, -- from 1; 0: in none
    was             TEXT    NOT NULL, -- the state of its configuration at the start
    errors          TEXT    NOT NULL, -- JSON array of the folders that were in error at the start
    held            TEXT    NOT NULL, -- JSON array: keyed digests of the changes that were held or refused at the start
    from_generation INTEGER NOT NULL, -- that the device was admitted to before
    waived          BOOLEAN NOT NULL,
    superseded      BOOLEAN NOT NULL, -- a later change touched the device: the rollout does not speak for it any more
    PRIMARY KEY (rollout_id, device_id)
);
CREATE INDEX rollout_members_by_device ON rollout_members (device_id);

CREATE TABLE holds (
    -- A device that stays at an older generation until its rollout admits it. All others are at the settled one.
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    rollout_id INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE
);
CREATE INDEX holds_by_rollout ON holds (rollout_id);

CREATE TABLE consents (
    -- A person's answer to a held change: it may be made once, or what is there is kept.
    id                INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    device_id         TEXT    NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    key               TEXT    NOT NULL,
    answer            TEXT    NOT NULL, -- consent, keep
    change            TEXT    NOT NULL, -- keyed digest of the change that it is for
    group_id          INTEGER,          -- the group consent that it was made from; NULL: it was given for the device
    given_by          TEXT    NOT NULL,
    given_at          INTEGER NOT NULL,
    until             INTEGER NOT NULL,
    unreachable_since INTEGER,          -- until the device can be reached again, its time does not run; NULL: it can
    closed_at         INTEGER,          -- NULL: it may still be used
    intent_id         INTEGER           -- that used it; NULL: none did
);
CREATE INDEX consents_by_device ON consents (device_id);
CREATE INDEX consents_open ON consents (id) WHERE closed_at IS NULL;
-- A device uses a group consent once for each key.
CREATE UNIQUE INDEX consents_by_group ON consents (group_id, device_id, key);

CREATE TABLE group_consents (
    -- A person's answer to equal held changes of the members of a rollout, also of members that do not have them yet.
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    rollout_id INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    key        TEXT    NOT NULL, -- with * for a registered device; '' with removals
    change     TEXT    NOT NULL, -- keyed group digest of the changes; '' with removals
    answer     TEXT    NOT NULL, -- consent, keep
    removals   BOOLEAN NOT NULL, -- for whatever an undo takes away or creates again
    given_by   TEXT    NOT NULL,
    given_at   INTEGER NOT NULL
);
CREATE INDEX group_consents_by_rollout ON group_consents (rollout_id);

CREATE TABLE orders (
    -- What daemons were told to do once: one device, or all with a tag.
    id       INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    type     TEXT    NOT NULL, -- restart, rescan, pause, resume, upgrade
    folder   TEXT    NOT NULL, -- of a rescan; '': all
    major    BOOLEAN NOT NULL, -- an upgrade may lead to another major version
    tag      TEXT    NOT NULL, -- '': it is for one device
    devices  TEXT    NOT NULL, -- JSON array of their IDs, in the order in which they are reached
    done     INTEGER NOT NULL, -- of them, from the first
    skipped  TEXT    NOT NULL, -- JSON array of the IDs of those that could not be reached
    status   TEXT    NOT NULL, -- running, done, failed, interrupted
    reason   TEXT    NOT NULL,
    made_by  TEXT    NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER           -- NULL: it runs
);

-- What people are told and shown.

CREATE TABLE problems (
    -- Trouble of a device or a folder that people were told of and that is not over, also when the device is gone.
    device_id    TEXT    NOT NULL,
    folder       TEXT    NOT NULL, -- '': the device as a whole
    kind         TEXT    NOT NULL,
    notice_id    TEXT    NOT NULL, -- of the notice that announced it
    body         TEXT    NOT NULL, -- JSON
    announced_at INTEGER NOT NULL,
    PRIMARY KEY (device_id, folder, kind)
);

CREATE TABLE outbox (
    -- A notice that waits for one receiver, also when its device is gone.
    sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- the order of delivery; never used again
    receiver TEXT    NOT NULL,
    body     TEXT    NOT NULL -- JSON
);
CREATE INDEX outbox_by_receiver ON outbox (receiver, sequence);

CREATE TABLE history (
    -- The fleet in numbers: a row for each minute of a day, and one for each hour of a month.
    step       INTEGER NOT NULL, -- seconds that the row is of, 60 or 3600
    began_at   INTEGER NOT NULL, -- when they began; minutes in which the server did not run have no row
    devices    INTEGER NOT NULL, -- registered
    online     INTEGER NOT NULL,
    in_sync    INTEGER NOT NULL,
    waiting    INTEGER NOT NULL, -- for a person
    need_bytes INTEGER NOT NULL, -- that all folders lacked
    problems   INTEGER NOT NULL, -- that people were told of
    written    INTEGER NOT NULL, -- grows from row to row of a step, whatever the clock says
    PRIMARY KEY (step, began_at)
);
CREATE INDEX history_by_writing ON history (step, written);
