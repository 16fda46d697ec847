-- Rows as version 18 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO group_consents (rollout_id, key, change, answer, removals, given_by, given_at) VALUES
    (1, 'folders.docs', 'g1', 'consent', false, 'nora', 1767323045678);
UPDATE consents SET group_id = 1 WHERE key = 'folders.docs';
