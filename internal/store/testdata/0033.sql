-- Rows as version 33 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO action_runs (action, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at, ended_at) VALUES
    ('restart', '', false, 'all', '["AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"]', 1, '[]', 'done', '1 of 1 devices', 'admin', 1767323045678, 1767323055678),
    ('rescan', 'docs', false, '', '["AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"]', 0, '[]', 'running', '', 'admin', 1767323045678, NULL);
