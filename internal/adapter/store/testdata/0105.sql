-- Rows of what 0105 adds, for the test of upgrades.
UPDATE base_entries SET revoked = NULL;
