-- Rows of what version 119 added.
INSERT INTO orders (type, folder, major, goes_on, tag, devices, done, skipped, failed, status, reason, made_by, began_at, ended_at) VALUES
    ('rescan', '', false, true, '', '["AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"]', 1, '[]', '[{"device":"AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA","reason":"why"}]', 'failed', '0 of 1 device', 'admin', 1767323045678, 1767323055678);
