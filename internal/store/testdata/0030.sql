-- Rows as version 30 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE devices SET way = 'agent' WHERE label = 'device 1';
