-- Rows as version 35 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE base_entries SET state = 'sending', run = '2026-11-20T10:11:12Z' WHERE key = (SELECT min(key) FROM base_entries);
