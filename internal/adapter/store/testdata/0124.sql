-- Rows of what 0124 deletes, for the test of upgrades. No roster has them, since SQL seals none.
INSERT INTO sessions (id, user_name, hash, half, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('s30', 'signed-on', 'h30', 'half30', '', 'c0ffee', 1767323045678, 1767323045678, 1767323045678, 4922996645678, '', '', X'0141f04fb8788c20e8a0161702aebba8d87173f2dbf4a25dd0aadbae8e0fa1efa761b6741dd057028504e492d72b51878f449b6820bbbad5b6292dbb7da919a54e43e63c491ce72e333c8aeb5d5176a80fd86476e1b6b4b44208a06810f264694186ee58ff4b9adf09208688e7135034a8');
UPDATE sessions SET provider_grant = X'0141f04fb8788c20e891b07b4da365b8e73db2f58ca09e69f31fc5af7ae9a6aaacc9d4e72186e8aed0ac6ae920638c9fc1f82504c716cb23dc11baf02d' WHERE id = 's30';
INSERT INTO login_links (hash, user_name, made_by, created_at, expires_at, proof) VALUES
    ('code of person0', 'person0', 'muster', 1767323045678, 4928274367089, X'0141f04fb8788c20e86af73ad63ee9f63560e811c2d66ebd550d57a367ca295eaad50dc560029239d62a3170ee4a17f56383e879d93e9e9000dc1d2e979be7faf581a2aa8d467dcbb48d2cccd5b385ecdb0982a75eeaf26d0f3a1b4713237e1da5df389e74c775fdf57d5fa2b7cb0696fa');
