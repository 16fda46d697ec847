-- +goose Up
CREATE TABLE history (
    -- The fleet in numbers: a row for each minute of a day, and one for each hour of a month.
    step       INTEGER NOT NULL, -- seconds that the row is of, 60 or 3600
    began_at   INTEGER NOT NULL, -- when they began
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
