CREATE TABLE folder_histories (
    -- A folder of which figures over time are kept: those that changed last, 1,000 at most.
    number INTEGER NOT NULL PRIMARY KEY, -- used again once the folder is forgotten
    folder TEXT    NOT NULL UNIQUE
);

CREATE TABLE folder_figures (
    -- A folder in numbers from a minute or an hour on: a row only when they changed.
    number       INTEGER NOT NULL REFERENCES folder_histories (number) ON DELETE CASCADE,
    step         INTEGER NOT NULL, -- seconds, 60 or 3600
    began_at     INTEGER NOT NULL, -- when the minute or hour began
    devices      INTEGER NOT NULL, -- that had the folder
    up_to_date   INTEGER NOT NULL, -- devices; in an hour the fewest
    need_bytes   INTEGER NOT NULL, -- that all devices lacked; in an hour the most
    global_bytes INTEGER NOT NULL, -- the size of the folder
    written      INTEGER NOT NULL, -- grows from row to row of a folder and step, whatever the clock says
    PRIMARY KEY (number, step, began_at)
);
CREATE INDEX folder_figures_by_writing ON folder_figures (number, step, written);
