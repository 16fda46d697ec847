-- Rows of what 0106 adds, for the test of upgrades.
INSERT INTO sessions (id, user_name, hash, half, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('s30', 'signed-on', 'h30', 'half30', '', 'c0ffee', 1767323045678, 1767323045678, 1767323045678, 4922996645678, '', '', X'0141f04fb8788c20e81308fa399ba4b8be5a95b1aecaa7530396bf48b9caf565d86f3375af232d48cec06bdeb20e1bffffbef2e6eac3c637e3ff107013145db54e2d375da56642fe87f70818d548d051fc6cac6f164371d64df2cc6498cfd91c47439ca204c50e20197b61ea6c1ca867b8');
