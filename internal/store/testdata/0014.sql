-- Rows as version 14 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO folder_paths (device_id, path) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '/srv/sync/docs');
