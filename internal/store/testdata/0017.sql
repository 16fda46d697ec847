-- Rows as version 17 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE generations SET made_by = 'nora' WHERE number = 3;
UPDATE rollout_members SET superseded = true WHERE rollout_id = 1;
