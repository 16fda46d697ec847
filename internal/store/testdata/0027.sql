-- Rows as version 27 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO users (name, role, password, created_at, updated_at, issuer, subject) VALUES
    ('signed-on', 'author', '', 1767323045678, 1767323045678, 'https://id.example', '24400320');
INSERT INTO used_sign_ons (hash, expires_at) VALUES ('c0ffee', 1767323045678);
