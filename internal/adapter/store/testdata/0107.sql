-- Rows of what 0107 adds, for the test of upgrades.
UPDATE sessions SET provider_grant = X'0141f04fb8788c20e891b07b4da365b8e73db2f58ca09e69f31fc5af7ae9a6aaacc9d4e72186e8aed0ac6ae920638c9fc1f82504c716cb23dc11baf02d' WHERE id = 's30';
