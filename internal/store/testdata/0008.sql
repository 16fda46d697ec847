-- Rows as version 8 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO templates (label, priority, op, key, text, saved_by, saved_role, created_at, updated_at) VALUES
    ('Reports', 60, 'merge', 'folders.reports', '{path: "~/reports"}', 'nora', 'admin', 1767323045678, 1767323045678);
INSERT INTO folder_roots (tag, path) VALUES ('office', '/srv/sync');
