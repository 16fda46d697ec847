CREATE TABLE event_log (
    -- An event of a device that is kept for a while. Those of deleted devices stay until they are old.
    number    INTEGER NOT NULL PRIMARY KEY, -- the ID of the event in the event stream
    at        INTEGER NOT NULL,
    device_id TEXT    NOT NULL,
    label     TEXT    NOT NULL, -- of the device, when it happened
    folder    TEXT    NOT NULL, -- '' for an event about no single folder
    kind      TEXT    NOT NULL, -- 'connection', 'folder', ...; see fleet.LogKind
    state     TEXT    NOT NULL, -- how it stands since; of an order what was ordered
    earlier   TEXT    NOT NULL, -- how it stood, '' where nothing was told of it
    reason    TEXT    NOT NULL, -- for a person; of an order what came of it
    cause     TEXT    NOT NULL, -- of an order who gave it; that of a revision is in revisions
    revision  INTEGER NOT NULL  -- its number; 0 for every other kind
);
CREATE INDEX event_log_by_device ON event_log (device_id, number);
CREATE INDEX event_log_by_folder ON event_log (folder, number);
CREATE INDEX event_log_by_time ON event_log (at);

-- How long a device may be away before that is trouble, in seconds; 0: as its tags say, or as usual.
ALTER TABLE devices ADD COLUMN quiet_after INTEGER NOT NULL DEFAULT 0;

CREATE TABLE tag_quiet (
    -- The same for the devices with a tag. A tag without a row says nothing about it.
    tag         TEXT    NOT NULL PRIMARY KEY,
    quiet_after INTEGER NOT NULL
);

-- Rows from before these columns hold 0.
ALTER TABLE history ADD COLUMN folders INTEGER NOT NULL DEFAULT 0;
ALTER TABLE history ADD COLUMN up_to_date INTEGER NOT NULL DEFAULT 0; -- folders, on all of their devices
ALTER TABLE history ADD COLUMN troubled INTEGER NOT NULL DEFAULT 0; -- devices with any trouble

-- With what role a person made the generation; '': Muster made it by itself, or it is not known.
ALTER TABLE generations ADD COLUMN made_role TEXT NOT NULL DEFAULT '';

CREATE TABLE author_keys (
    -- A key that templates of authors may set on the devices with a tag; tag '': on every device.
    tag TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (tag, key)
);
