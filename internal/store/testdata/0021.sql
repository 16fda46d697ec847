-- Rows as version 21 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO protected_tags (tag) VALUES ('finance');
