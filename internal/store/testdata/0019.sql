-- Rows as version 19 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO own_keys (name, value) VALUES ('an example', X'01');
