-- Rows as the first version of the tables held them, for the test of upgrades. Sealed with the key 0101...01.
-- X'..' is written '\x..' for PostgreSQL.
INSERT INTO meta (name, value) VALUES ('seal_check', '0141f04fb8788c20e842ea1b04621742669e21c53e6aafa18323913401a55e418ba31fc1ac405d5256061984d06fddfd6d8c85e6ff6930');
INSERT INTO devices (id, label, api_key, api_address, api_port, mode, allow_plain, pin, created_at, updated_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 1',
    X'0141f04fb8788c20e8e0fcdc757d08419cd937ab8b84f9cdfcbb41fae9cf12865e32a56e537344214fe3b97b792d183ab15539e05ab5a792c359',
    '192.0.2.1', 8384, 'observe', false, '', 1767323045678, 1767323045679);
INSERT INTO templates (label, priority, op, key, text, created_at, updated_at) VALUES
    ('No NAT', 50, 'set', 'options.natEnabled', 'false
', 1767323045678, 1767323045678);
INSERT INTO templates (label, priority, op, key, text, created_at, updated_at) VALUES
    ('deleted', 50, 'set', 'options.natEnabled', 'true', 1767323045678, 1767323045678);
DELETE FROM templates WHERE label = 'deleted';
INSERT INTO generations (number, cause, created_at) VALUES (1, 'template 1 created', 1767323045678), (2, 'device tagged', 1767323045678);
INSERT INTO template_history (generation, template_id, deleted, label, priority, op, key, text, created_at, updated_at) VALUES
    (1, 1, false, 'No NAT', 50, 'set', 'options.natEnabled', 'false
', 1767323045678, 1767323045678);
INSERT INTO device_tags (device_id, tag) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'office');
INSERT INTO device_tag_history (generation, device_id, tag, carried) VALUES (2, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'office', true);
INSERT INTO revision_bodies (device_id, digest, document) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'd1',
    X'0141f04fb8788c20e89f1eedb436f53f40ded4d9696c58fc85a3b547d4f74dea7e9e082b8e70520fae499ae43843afefb323b9b0e0aa61aa829ce370f854cc7c039c3ade758672a521899d476db7c8d5cb5ae35b442ef87439e865c65bbf40fae01a2d80e76c93cf8c56ef87cfc44a58334476');
INSERT INTO revisions (device_id, number, digest, cause, seen_at) VALUES ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 1, 'd1', '', 1767323045678);
