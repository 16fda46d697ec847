-- Rows as version 10 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO secrets (name, value, created_at, updated_at, for_keys, for_tags) VALUES
    ('pw', X'00', 1767323045678, 1767323045678, '["gui.password"]', '["office"]');
