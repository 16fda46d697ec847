CREATE TABLE settings (
    -- A setting of the server that an administrator changed. Without a row the default holds.
    name   TEXT    NOT NULL PRIMARY KEY,
    value  BLOB    NOT NULL, -- sealed
    set_by TEXT    NOT NULL, -- name of the person or token
    set_at INTEGER NOT NULL,
    mark   BLOB              -- keyed mark of the row's content; NULL: the row is not believed
);
