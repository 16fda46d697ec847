-- Rows of what 0122 adds, for the test of upgrades.
INSERT INTO revocation_proofs (revoked_id, device_id, config_at, digest, connections_at, returns, returned_at)
	SELECT 'MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD', id, 1780000001000, 'ab', 1780000002000, 0, 0
	FROM devices ORDER BY id LIMIT 1;
