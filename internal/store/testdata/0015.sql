-- Rows as version 15 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE consents SET unreachable_since = 1767323045678 WHERE key = 'folders.docs';
INSERT INTO stops (device_id, key, kind, reason, observed, templates, stopped_at, answers) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'options.relaysEnabled', 'contended', 'set back three times', '', '', 1767323045678, 2);
