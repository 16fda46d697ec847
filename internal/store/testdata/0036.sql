-- Rows as version 36 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO sources (name, read_only, assertions) VALUES ('office', TRUE, '[{"name":"a","all":true,"absent":["ldap"]}]');
INSERT INTO template_origins (template_id, source, name) VALUES (2, 'office', 'labels'), (77, '', 'gone');
