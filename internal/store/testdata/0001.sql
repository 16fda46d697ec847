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
INSERT INTO base_entries (device_id, key, base, written, intended, sent, templates, state, implied) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'options.natEnabled',
    X'0141f04fb8788c20e8586eb06f7b78ce26b1216e054e90994a3594e6b7b2a58a63036a5f10ecada6ded0548ebb0e54638a28406475',
    X'0141f04fb8788c20e8413e32d3f83d113205b0d1196c4731039814cbf9cf8b7b2ef52ea0248a44f24278a86c79e9be9bd78eb7ab90e0', NULL, NULL, '[1]', '', false),
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'folders.photos',
    X'0141f04fb8788c20e80ca2c2ffd3ebac91995b0a0b0486135c0368f8bf2db857a8ebd6b6080ae7169858e4763d439bcca79bbce8fef2940a34edefd8cb52a3da1ad347967e7318c7e3553284468baeb24fc85ec11d3e7314656ac0792b40668bc5a1c15d2bcf06b5',
    X'0141f04fb8788c20e81fd662ec74da2268638a9a5d8b3e974a5411a8b292c01d44a3911c775e2ab8ce688a0ceac1ec344fe7dcb9817a96e2c574be6af453ce4ad09d1471018a2f81b9187b757d768178ed9643d6f8dbe350bb41e5a6c9f418d4fe0931a2', NULL, NULL, '[1]', 'theirs', false),
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'folders.docs', NULL,
    X'0141f04fb8788c20e822d78b1dd9cd85aa84ca9c0250eccf0df9297df6a1fe5d99623aa965ae02ea527d4dcdec42f2c0c9d04b03bb34705043cc1320b29cfc4c735d66e65b36df6261452d6b264b306427ae70715e', NULL, NULL, '[1]', '', false),
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'gui.password',
    X'0141f04fb8788c20e84f95322c65014aa78e359553ffa114bf3aa8bca2ab4c1e5e366f624b952716da85d6edac1ef745eea270d9d8db7f22f8bde33adc',
    X'0141f04fb8788c20e8d2893a352c037b167877db2b836959e0cd81250801001d849a4b2f6dc76ccc633dc48459ad0b7cb3cfcf736c93c7f445477597', NULL,
    X'0141f04fb8788c20e867b84ef57e6269c4a09a7ba171e62a59b28437fcd482ba9642649e245b30b76baaf36533747900fcd1984c9a6e73', '[1]', '', false);
