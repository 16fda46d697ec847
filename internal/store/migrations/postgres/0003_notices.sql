-- +goose Up
CREATE TABLE problems (
    device_id    TEXT   NOT NULL,
    folder       TEXT   NOT NULL, -- '' for the device as a whole
    kind         TEXT   NOT NULL,
    notice_id    TEXT   NOT NULL, -- of the notice that announced it
    body         TEXT   NOT NULL, -- JSON
    announced_at BIGINT NOT NULL,
    PRIMARY KEY (device_id, folder, kind)
);

CREATE TABLE outbox (
    sequence BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of delivery; never used again
    receiver TEXT   NOT NULL,
    body     TEXT   NOT NULL -- JSON
);
CREATE INDEX outbox_by_receiver ON outbox (receiver, sequence);

COMMENT ON TABLE problems IS 'Something wrong with a device or a folder that people were told of and that is not over, also when the device is gone.';
COMMENT ON TABLE outbox IS 'A notice that waits for one receiver, also when its device is gone.';
