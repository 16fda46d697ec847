-- Rows as version 3 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO problems (device_id, folder, kind, notice_id, body, announced_at) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'docs', 'folderError', 'n1', '{}', 1767323045678);
INSERT INTO outbox (receiver, body) VALUES ('mail', '{}');
