CREATE TABLE told_groups (
    -- Problems of one kind that a channel was told of in one message, and that are not over.
    channel TEXT NOT NULL,
    kind    TEXT NOT NULL,
    tag     TEXT NOT NULL, -- by which the route groups; '': it does not
    body    TEXT NOT NULL, -- JSON
    PRIMARY KEY (channel, kind, tag)
);

CREATE TABLE deliveries (
    -- A message that was sent to a channel, with the answer. The newest of each channel are kept.
    sequence   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    channel    TEXT    NOT NULL,
    sent_at    INTEGER NOT NULL,
    notice_id  TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    summary    TEXT    NOT NULL,
    accepted   BOOLEAN NOT NULL,
    answer     TEXT    NOT NULL
);
CREATE INDEX deliveries_by_channel ON deliveries (channel, sequence);
