-- +goose Up
-- Who last saved what a template says, and with what role; '' where that was not kept.
ALTER TABLE templates ADD COLUMN saved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE templates ADD COLUMN saved_role TEXT NOT NULL DEFAULT '';
ALTER TABLE template_history ADD COLUMN saved_by TEXT NOT NULL DEFAULT '';
ALTER TABLE template_history ADD COLUMN saved_role TEXT NOT NULL DEFAULT '';

CREATE TABLE folder_roots (
    -- A directory below which templates of authors may put folders, on every device or on those with a tag.
    tag  TEXT NOT NULL, -- '' for the fleet
    path TEXT NOT NULL,
    PRIMARY KEY (tag, path)
);
INSERT INTO folder_roots (tag, path) VALUES ('', '~');
