-- Rows as version 24 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE sessions SET proof = X'01' WHERE id = 's1';
UPDATE login_links SET proof = X'01' WHERE user_name = 'bert';
