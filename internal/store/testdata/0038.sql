-- Rows as version 38 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO users (name, role, password, created_at, updated_at, disabled_at) VALUES
    ('left', 'operator', '', 1767323045678, 1767323045678, 1767323045678);
