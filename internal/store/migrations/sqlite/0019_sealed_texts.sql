-- +goose Up
-- The texts of templates are sealed, as they may hold literal secrets. A text of before begins with a zero byte until
-- the server that made this change has sealed it.
ALTER TABLE templates ADD COLUMN sealed BLOB NOT NULL DEFAULT X'';
UPDATE templates SET sealed = CAST(X'00' || CAST(text AS BLOB) AS BLOB);
ALTER TABLE templates DROP COLUMN text;
ALTER TABLE templates RENAME COLUMN sealed TO text;
ALTER TABLE template_history ADD COLUMN sealed BLOB NOT NULL DEFAULT X'';
UPDATE template_history SET sealed = CAST(X'00' || CAST(text AS BLOB) AS BLOB);
ALTER TABLE template_history DROP COLUMN text;
ALTER TABLE template_history RENAME COLUMN sealed TO text;

CREATE TABLE own_keys (
    -- A key that Muster made for a purpose of its own. It stays when the seal key is replaced.
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL -- sealed
);
