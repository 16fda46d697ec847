-- Rows as version 13 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE base_entries SET by_admin = true WHERE key = 'folders.reports';
