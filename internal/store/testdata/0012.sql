-- Rows as version 12 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO base_entries (device_id, key, templates, state, implied, kind, version) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'folders.reports', '[3]', '', false, 'made', 37);
INSERT INTO consents (device_id, key, answer, change, given_by, given_at, until) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'folders.docs', 'consent', 'c1', 'nora', 1767323045678, 1767323045678);
