-- Rows as version 29 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO sessions (id, user_name, hash, previous_hash, created_at, rotated_at, last_used_at, expires_at, address, client,
    provider_session) VALUES
    ('session-29', 'signed-on', 'hash-29', '', 1767323045678, 1767323045678, 1767323045678, 1767409445678, '192.0.2.1', 'x',
    'c0ffee');
