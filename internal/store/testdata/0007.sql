-- Rows as version 7 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE devices SET may_restart = true, pin = 'sha256:00' WHERE id = 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA';
