-- Rows as version 4 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO stops (device_id, key, kind, reason, observed, templates, stopped_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'options.natEnabled', 'rejected', 'the daemon refused it', 'd1', '', 1767323045678),
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'whole', 'unsaveable', 'the disk is full', '', '', 1767323045678);
