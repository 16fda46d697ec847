-- Rows as version 28 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO enroll_keys (id, hash, tags, uses, used, created_by, created_at, expires_at, last_used_at) VALUES
    ('abcdefgh', 'c0ffee', '["office"]', 50, 1, 'admin', 1767323045678, 1767409445678, 1767323045678);
INSERT INTO enrollment_decisions (device_id, decision, name, system, version, address, api_port, first_seen_at,
    last_seen_at, decided_by, decided_at) VALUES
    ('AAAAAAA', 'rejected', 'laptop', 'linux/amd64', 'v1', '192.0.2.7', 8384, 1767323045678, 1767323045678, 'admin',
        1767323045678),
    ('BBBBBBB', 'deleted', '', '', '', '', 8384, NULL, NULL, 'admin', 1767323045678);
