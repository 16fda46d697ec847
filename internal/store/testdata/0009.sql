-- Rows as version 9 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO certificates (device_id, fingerprint, not_before, not_after) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:00', 1767323045678, 1767323045678);
