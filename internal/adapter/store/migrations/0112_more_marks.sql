-- A keyed mark of the row's content, made by Muster. NULL: the row is not believed.
ALTER TABLE base_entries ADD COLUMN mark BLOB;
ALTER TABLE folder_paths ADD COLUMN mark BLOB;
ALTER TABLE sightings ADD COLUMN mark BLOB;

-- The time of the last order that may be missing: devices that were registered later have lost none.
UPDATE meta SET value = (SELECT CAST(COALESCE(MAX(began_at), 0) AS TEXT) FROM orders) WHERE name = 'pausing_orders_lost';
