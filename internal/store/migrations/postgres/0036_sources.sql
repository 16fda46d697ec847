-- +goose Up
CREATE TABLE sources (
    -- Where files with templates come from: a repository, as a rule.
    name       TEXT    NOT NULL PRIMARY KEY,
    read_only  BOOLEAN NOT NULL, -- its templates are changed by its files alone
    assertions TEXT    NOT NULL  -- JSON array: what every change has to keep true
);
CREATE TABLE template_origins (
    -- The file that a template came from. The row outlives the template: an undo brings it back with its ID.
    template_id BIGINT NOT NULL PRIMARY KEY,
    source      TEXT   NOT NULL, -- '' means files without a source
    name        TEXT   NOT NULL  -- of the file, without its ending
);
COMMENT ON TABLE sources IS 'Where files with templates come from: a repository, as a rule.';
COMMENT ON TABLE template_origins IS 'The file that a template came from. The row outlives the template: an undo brings it back with its ID.';
