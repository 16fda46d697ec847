-- Rows of what 0106 adds, for the test of upgrades.
INSERT INTO sessions (id, user_name, hash, half, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('s30', 'signed-on', 'h30', 'half30', '', 'c0ffee', 1767323045678, 1767323045678, 1767323045678, 4922996645678, '', '', X'0141f04fb8788c20e8a0161702aebba8d87173f2dbf4a25dd0aadbae8e0fa1efa761b6741dd057028504e492d72b51878f449b6820bbbad5b6292dbb7da919a54e43e63c491ce72e333c8aeb5d5176a80fd86476e1b6b4b44208a06810f264694186ee58ff4b9adf09208688e7135034a8');
