-- +goose Up
CREATE TABLE history (
    -- The fleet in numbers: a row for each minute of a day, and one for each hour of a month. Minutes in which the
    -- server did not run have none.
    step       BIGINT NOT NULL, -- seconds that the row is of, 60 or 3600
    began_at   BIGINT NOT NULL, -- when they began
    devices    BIGINT NOT NULL, -- registered
    online     BIGINT NOT NULL,
    in_sync    BIGINT NOT NULL,
    waiting    BIGINT NOT NULL, -- for a person
    need_bytes BIGINT NOT NULL, -- that all folders lacked
    problems   BIGINT NOT NULL, -- that people were told of
    written    BIGINT NOT NULL, -- grows from row to row of a step, whatever the clock says
    PRIMARY KEY (step, began_at)
);
CREATE INDEX history_by_writing ON history (step, written);
COMMENT ON TABLE history IS 'The fleet in numbers: a row for each minute of a day, and one for each hour of a month.';
