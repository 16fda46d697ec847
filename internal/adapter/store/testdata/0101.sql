-- Rows of what 0101 adds, for the test of upgrades.
INSERT INTO event_log (number, at, device_id, label, folder, kind, state, earlier, reason, cause, revision) VALUES
    (1767323045678000, 1767323045678, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 1', 'docs', 'folder', 'stopped', 'upToDate', 'folder marker missing', '', 0);
UPDATE devices SET quiet_after = 172800;
INSERT INTO tag_quiet (tag, quiet_after) VALUES ('laptop', 172800);
UPDATE history SET folders = 7, up_to_date = 6, troubled = 1;
UPDATE generations SET made_role = 'author';
INSERT INTO author_keys (tag, key) VALUES ('', 'options.listenAddresses'), ('laptop', 'folders.*.ignorePerms');
