-- Rows as version 22 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO users (name, role, password, created_at, updated_at, last_login_at) VALUES
    ('anna', 'admin', '$argon2id$v=19$m=65536,t=3,p=4$MDEyMzQ1Njc4OWFiY2RlZg$1rZzKxTnCVSYGWsOrSdSoH9VN1wM7JEGb3oXwq+KZmk', 1767323045678, 1767323045678, 1767323045678),
    ('bert', 'viewer', '', 1767323045678, 1767323045678, NULL);
INSERT INTO sessions (id, user_name, hash, previous_hash, created_at, rotated_at, last_used_at, expires_at, address, client) VALUES
    ('s1', 'anna', 'a000000000000000000000000000000000000000000000000000000000000000', '', 1767323045678, 1767323045678, 1767323045678, 4102444800000, '192.0.2.7', 'browser');
INSERT INTO login_links (hash, user_name, made_by, created_at, expires_at) VALUES
    ('b000000000000000000000000000000000000000000000000000000000000000', 'bert', 'anna', 1767323045678, 4102444800000);
