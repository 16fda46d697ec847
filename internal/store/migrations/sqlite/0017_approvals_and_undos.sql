-- +goose Up
-- A later change touched the device: the rollout does not speak for it any more.
ALTER TABLE rollout_members ADD COLUMN superseded BOOLEAN NOT NULL DEFAULT FALSE;
-- The generation that the device was admitted to before.
ALTER TABLE rollout_members ADD COLUMN from_generation INTEGER NOT NULL DEFAULT 0;
-- Who made the generation; '' when that is not known.
ALTER TABLE generations ADD COLUMN made_by TEXT NOT NULL DEFAULT '';

UPDATE rollout_members SET from_generation = (SELECT COALESCE(json_extract(r.body, '$.before'), 0) FROM rollouts r WHERE r.id = rollout_id);
UPDATE rollout_members SET from_generation = (
    SELECT h.generation FROM holds h WHERE h.device_id = rollout_members.device_id AND h.rollout_id = rollout_members.rollout_id)
WHERE EXISTS (
    SELECT 1 FROM holds h WHERE h.device_id = rollout_members.device_id AND h.rollout_id = rollout_members.rollout_id);

-- An undo is a rollout of its own now. One that is under way has admitted its devices already.
DELETE FROM holds WHERE rollout_id IN (SELECT id FROM rollouts WHERE status = 'undoing');
UPDATE rollouts SET status = 'undone' WHERE status = 'undoing';

-- A rollout over many devices waits for one approval before its first wave. One in which a person consented already goes
-- on. In the others every change was held: their devices go back to the generation before.
UPDATE rollouts SET body = json_set(body, '$.approval', json_object('reason', json_extract(body, '$.blast'), 'by', 'a consent'))
WHERE COALESCE(json_extract(body, '$.blast'), '') <> '' AND json_array_length(COALESCE(json_extract(body, '$.consents'), '[]')) > 0;
INSERT INTO holds (device_id, generation, rollout_id)
    SELECT m.device_id, m.from_generation, m.rollout_id FROM rollout_members m JOIN rollouts r ON r.id = m.rollout_id
    WHERE r.status IN ('waiting', 'running', 'paused', 'halted') AND COALESCE(json_extract(r.body, '$.blast'), '') <> ''
        AND json_extract(r.body, '$.approval') IS NULL
    ON CONFLICT (device_id) DO NOTHING;
UPDATE rollout_members SET wave = 0, waived = FALSE WHERE rollout_id IN (
    SELECT id FROM rollouts WHERE status IN ('waiting', 'running', 'paused', 'halted')
        AND COALESCE(json_extract(body, '$.blast'), '') <> '' AND json_extract(body, '$.approval') IS NULL);
UPDATE rollouts SET status = CASE status WHEN 'paused' THEN 'paused' WHEN 'halted' THEN 'paused' ELSE 'waiting' END,
    body = json_set(json_remove(body, '$.wave', '$.waves', '$.waveAt', '$.startedAt', '$.halt'),
        '$.approval', json_object('reason', json_extract(body, '$.blast')),
        '$.reason', 'it waits for approval: ' || json_extract(body, '$.blast'), '$.next', 'An admin approves it: `muster rollout approve ID`, with the ID of this rollout. Or undo it.')
WHERE status IN ('waiting', 'running', 'paused', 'halted') AND COALESCE(json_extract(body, '$.blast'), '') <> ''
    AND json_extract(body, '$.approval') IS NULL;
