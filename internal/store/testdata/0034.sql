-- Rows as version 34 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE enrollment_decisions SET proof = X'01' WHERE device_id = 'AAAAAAA';
