-- Rows of what 0108 adds, for the test of upgrades.
INSERT INTO revocations (device_id, label, reason, revoked_by, revoked_at)
	VALUES ('MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD', 'otto', 'stolen', 'root', 1780000000000);
