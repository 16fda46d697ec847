CREATE TABLE sinks (
    -- A place outside of Muster that gets what Muster records.
    name     TEXT    NOT NULL PRIMARY KEY,
    body     BLOB    NOT NULL, -- sealed JSON: kind, address, streams, headers
    saved_by TEXT    NOT NULL, -- name of the person or token
    saved_at INTEGER NOT NULL,
    mark     BLOB              -- keyed mark of the row's content; NULL: the row is not believed
);
CREATE TABLE sink_cursors (
    -- How far a sink is. The row goes with the sink.
    name   TEXT    NOT NULL PRIMARY KEY REFERENCES sinks (name) ON DELETE CASCADE,
    kinds  TEXT    NOT NULL, -- ',' before and after each kind of the event log that it gets
    audit  INTEGER NOT NULL, -- ID of the last entry of the audit that it took; -1: it gets none
    number INTEGER NOT NULL, -- of the last entry of the event log that it took or passed over
    sent   INTEGER NOT NULL,
    lost   INTEGER NOT NULL, -- entries that were deleted before they were sent, and not reported to the sink yet
    gaps   INTEGER NOT NULL, -- entries that were reported to the sink as lost
    dead   INTEGER NOT NULL  -- entries that it refused
);
CREATE TABLE sink_refusals (
    -- Entries that a sink refused, the newest of each sink.
    name   TEXT    NOT NULL REFERENCES sinks (name) ON DELETE CASCADE,
    stream TEXT    NOT NULL,
    number INTEGER NOT NULL, -- of the entry in its stream
    at     INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    PRIMARY KEY (name, stream, number)
);
