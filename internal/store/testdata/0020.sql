-- Rows as version 20 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO tokens (name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at, last_used_from) VALUES
    ('scoped', 'operator', '["office"]', 'h19', 1767323045678, 1767323045679, 1767323045680, 'h18', 1767323045681, 1767323045682, '192.0.2.7');
