-- Rows as version 26 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE devices SET proof = X'01' WHERE label = 'device 1';
