-- Rows as version 2 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO generations (number, cause, created_at) VALUES (3, 'template 1: tag "office"', 1767323045678);
INSERT INTO template_tags (template_id, tag) VALUES (1, 'office');
INSERT INTO template_tag_history (generation, template_id, tag, carried) VALUES (3, 1, 'office', true);
INSERT INTO rollouts (generation, status, body, created_at) VALUES (3, 'halted', '{"before":2,"carries":[3],"cause":"template 1 tagged"}', 1767323045678);
INSERT INTO rollout_members (rollout_id, device_id, position, wave, was, errors, waived) VALUES (1, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, 1, 'inSync', '["docs"]', false);
INSERT INTO holds (device_id, generation, rollout_id) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 2, 1);
