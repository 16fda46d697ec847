-- Rows as version 16 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO templates (label, priority, op, key, text, saved_by, saved_role, created_at, updated_at, reads) VALUES
    ('Label', 70, 'set', 'options.unackedNotificationIDs', 'device.label', 'nora', 'admin', 1767323045678, 1767323045678,
    '{"known":true,"device":"label","sharing":true}');
-- Rollouts beyond a blast limit, without and with a consent, and an undo that is under way.
INSERT INTO rollouts (generation, status, body, created_at) VALUES
    (3, 'running', '{"before":2,"carries":[3],"cause":"many","waves":[1,4],"wave":1,"blast":"too many devices","waveAt":1767323045678}', 1767323045678),
    (3, 'running', '{"before":2,"carries":[3],"cause":"many","waves":[1,4],"wave":1,"blast":"too many devices","consents":[{"key":"options.a","digest":"d","by":"nora"}]}', 1767323045678),
    (3, 'undoing', '{"before":2,"carries":[3],"cause":"gone","waves":[1],"wave":1,"undoneBy":4}', 1767323045678);
INSERT INTO rollout_members (rollout_id, device_id, position, wave, was, errors, waived) VALUES
    (2, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, 1, 'inSync', '[]', false),
    (3, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, 1, 'inSync', '[]', false);
