-- Rows as version 16 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO templates (label, priority, op, key, text, saved_by, saved_role, created_at, updated_at, reads) VALUES
    ('Label', 70, 'set', 'options.unackedNotificationIDs', 'device.label', 'nora', 'admin', 1767323045678, 1767323045678,
    '{"known":true,"device":"label","sharing":true}');
