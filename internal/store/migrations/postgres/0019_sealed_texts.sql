-- +goose Up
-- The texts of templates are sealed, as they may hold literal secrets. A text of before begins with a zero byte until
-- the server that made this change has sealed it.
ALTER TABLE templates ALTER COLUMN text TYPE BYTEA USING '\x00'::bytea || convert_to(text, 'UTF8');
ALTER TABLE template_history ALTER COLUMN text TYPE BYTEA USING '\x00'::bytea || convert_to(text, 'UTF8');

CREATE TABLE own_keys (
    name  TEXT  NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL -- sealed
);
COMMENT ON TABLE own_keys IS 'A key that Muster made for a purpose of its own. It stays when the seal key is replaced.';
