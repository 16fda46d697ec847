-- Rows as version 6 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE rollout_members SET held = '["folders.docs"]' WHERE rollout_id = 1;
