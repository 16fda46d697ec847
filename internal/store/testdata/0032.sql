-- Rows as version 32 of the tables held them, on top of those of the versions before; see 0001.sql.
UPDATE sightings SET found_by = 'agent';
