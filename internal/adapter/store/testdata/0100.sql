-- Rows of 0.1.0, for the test of upgrades. Sealed with the key 0101...01. X'..' is written '\x..' for PostgreSQL. IDs
-- that a table gives by itself are left out: they count from 1.
DELETE FROM meta;
DELETE FROM folder_roots;
INSERT INTO meta (name, value) VALUES
    ('settled_generation', '0');
INSERT INTO meta (name, value) VALUES
    ('seal_check', '0141f04fb8788c20e82cf17fce0a256b107ad9e1bb26c171d2275e233c30f941b5c351e120480f4fe0bae1a2da7b5bbecc0615ef58fec6');
INSERT INTO meta (name, value) VALUES
    ('server', 'WLLZKMVR673O3WE6SMYPHVB6V7');
INSERT INTO own_keys (name, value) VALUES
    ('purpose 0', X'0141f04fb8788c20e8f540d0d0d8677bc118281b1ff68a8ccd2853bb8e245f2812e48a4f0ed22bcb6ddaa6f374a5321b33be98a28cd0b33b6160008861b606b4636cb6a7847236fbb8f2f1ecc8698b10d5');
INSERT INTO own_keys (name, value) VALUES
    ('purpose 1', X'0141f04fb8788c20e8873e19e8c3a0c1b1b09e26c05167a93ef3b8361c12f50f5f00721d7fbcb508341c9afef57a7deb5574c09cdaa3b1516fbd06bcd963fcdbf2c3a8c614a18d01de462786d42794de34');
INSERT INTO devices (id, label, api_key, api_address, api_port, way, mode, allow_plain, may_restart, pin, pin_origin, created_at, updated_at, proof) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 1', X'0141f04fb8788c20e8e073aec5993d3841fcb01ef99ecbf5d521381f8194fea7d56efe435f60620c95f4e82dedff97d145b5f4d40304bef4bf4c', '192.0.2.1', 8384, 'agent', 'on', false, true, 'sha256:0000000000000000000000000000000000000000000000000000000000000001', 'given', 1767323045678, 1767323045678, X'0141f04fb8788c20e81250a7152a01ba51fc11860ec89ae0693ddbb49cdf5b4474719e3d52e882eeeea63695cd2beb52f08461188db3eb25e3537c56b450ceecbb98339b55e4235938ecba72fe6948c3a93b35452f8559c438281e529ed54d349a958ced6740e4df9c8d3f011c29b49712c62a558beca8faae0099d91a54f72607cdffe76ec4296876f113a4cfe67621034379ab5ec4e02211125b83d0ba26d9a0515a63e2b24b8f8ccabd3062d43ec6db5eb147d648b1a43337662317d97a11876fb24d9d');
INSERT INTO devices (id, label, api_key, api_address, api_port, way, mode, allow_plain, may_restart, pin, pin_origin, created_at, updated_at, proof) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 2', X'0141f04fb8788c20e81d6936a57ee9d7c5cbb01b988ce91aa5c5b13311ceabb84e9ebe7d7025e4085e8b243a611c1e45f44c7ac4cb081e519add', '192.0.2.1', 8384, '', 'on', false, false, 'sha256:configuration 1', 'firstUse', 1767323045678, 1767323045678, X'0141f04fb8788c20e8e9410d687daff4e43cdc18b90c881c651f1c671eccd1441390a3401d2abd50408c9f4f1cc62bff49aeb650d0db0d1a0429392cdd680658cf3096c85f7f2619740ba4ced804cae75fba74347dbff00ce6394f79c5da9724ebbd4ca22732ddf8aa0cad5a711730cafb7cce4510c33c39d421b7a642e178f4d5eeacb85789d7e157a06e4f8503e97272cac686625cbde4f65ba8167ec95a793d19f89932ed496566c6beee3bab6b8952bc7895f2227277ec3ae30c8694c87925366cf576');
INSERT INTO templates (label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at) VALUES
    ('template 0', 0, 'set', 'options.natEnabled', X'0141f04fb8788c20e8fc7ac89d3a68308f14d3a492802743678e11ac49b921ab68299195c8d50b9ce53f96ca68d5c53af7cd6788984aca', '', 'muster', '', 1767323045678, 1767323045678);
INSERT INTO templates (label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at) VALUES
    ('template 1', 0, 'set', 'options.natEnabled', X'0141f04fb8788c20e84728676fb3b8c331e6070a1de5d10e243a363d6ca7f3344f70780975b30ec43c27c553f89b8d887e6063b5745b83', '', 'muster', '', 1767323045678, 1767323045678);
INSERT INTO device_tags (device_id, tag) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'office');
INSERT INTO device_tags (device_id, tag) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'a');
INSERT INTO device_tags (device_id, tag) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'b');
INSERT INTO device_tags (device_id, tag) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'c');
INSERT INTO template_tags (template_id, tag) VALUES
    (1, 'office');
INSERT INTO tag_modes (tag, mode) VALUES
    ('office', 'observe');
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (1, 'template 1 created', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (2, 'vars of device AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA changed', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (3, 'vars of tag "device 1" changed', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (4, 'template 2 created', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (5, 'vars of device AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA changed', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (6, 'vars of tag "device 2" changed', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (7, 'device AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA: tag "office"', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (8, 'device AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA: tag "a"', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (9, 'device AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA: tag "b"', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (10, 'device AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA: tag "c"', 'muster', 1767323045678);
INSERT INTO generations (number, cause, made_by, created_at) VALUES
    (11, 'template 1: tag "office"', 'nora', 1767323045678);
INSERT INTO template_history (generation, template_id, deleted, label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at) VALUES
    (1, 1, false, 'template 0', 0, 'set', 'options.natEnabled', X'0141f04fb8788c20e8f448b566af71ddb846851e55f184107d9c1219336eadd67107885f533608bee5ecb6a969021c694633d352c39a19', '', 'muster', '', 1767323045678, 1767323045678);
INSERT INTO template_history (generation, template_id, deleted, label, priority, op, key, text, reads, saved_by, saved_role, created_at, updated_at) VALUES
    (4, 2, false, 'template 1', 0, 'set', 'options.natEnabled', X'0141f04fb8788c20e8669e3ac42bf5a9a38e46b23f3425ea8d12334231eb4960be6176325526f25494847bd805f9f81b96ddeb3bd288f4', '', 'muster', '', 1767323045678, 1767323045678);
INSERT INTO device_tag_history (generation, device_id, tag, carried) VALUES
    (7, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'office', true);
INSERT INTO device_tag_history (generation, device_id, tag, carried) VALUES
    (8, 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'a', true);
INSERT INTO device_tag_history (generation, device_id, tag, carried) VALUES
    (9, 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'b', true);
INSERT INTO device_tag_history (generation, device_id, tag, carried) VALUES
    (10, 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'c', true);
INSERT INTO template_tag_history (generation, template_id, tag, carried) VALUES
    (11, 1, 'office', true);
INSERT INTO tokens (name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at, last_used_from) VALUES
    ('viewer 0', 'viewer', NULL, '8c8107e5aef183ddda3d49e040e7d6183240d673571fcc1281d7aa6a59c767b9', 1772600767089, 1772600767089, NULL, NULL, NULL, NULL, '');
INSERT INTO tokens (name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at, last_used_from) VALUES
    ('viewer 1', 'viewer', NULL, 'fd9c77d5f5218c47a4f8ba9abe855edf8a45c9ce78cbe0d002e561faa806ea19', 1772600767089, 1772600767089, NULL, NULL, NULL, NULL, '');
INSERT INTO tokens (name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at, last_used_from) VALUES
    ('admin', 'admin', NULL, '6d28080b2970e79da0bfed44eb7abc257e12434764a5fc6da2a59039cfe3d653', 1772600767089, 1772600767089, NULL, NULL, NULL, NULL, '');
INSERT INTO tokens (name, role, tag_scope, hash, created_at, issued_at, expires_at, old_hash, old_until, last_used_at, last_used_from) VALUES
    ('scoped', 'operator', '["finance"]', 'h20', 1767323045678, 1767323045678, 4922996645678, 'h19', 1767326645678, 1767323045678, '192.0.2.7');
INSERT INTO secrets (name, value, for_keys, for_tags, created_at, updated_at) VALUES
    ('secret 0', X'0141f04fb8788c20e8ede124a62918a80507d9f711d0c3d548f948a88adbe2db93624f27e8699ff99314739b7b4d0c4a2589aef312ee5291', '[]', '[]', 1767323045678, 1767323045678);
INSERT INTO secrets (name, value, for_keys, for_tags, created_at, updated_at) VALUES
    ('secret 1', X'0141f04fb8788c20e8799fd48eb081e184539f4d9ef5eb50a902684aa65ac06a70cd6247685099fd7792590b6c2a08acef2389480c00ce94', '[]', '[]', 1767323045678, 1767323045678);
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.create', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 1', '', '3d73c3219ba264f85cdbe67993e3bc1136e2da933e7a80b1f281360a6f9c38c1');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.pinned', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:configuration 0', '3d73c3219ba264f85cdbe67993e3bc1136e2da933e7a80b1f281360a6f9c38c1', '6c6b38e45b11d15eb1c632cf138a60fd623b34e4d8079a8c38f56f5ff7dc5cc3');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'secret.put', 'secret 0', 'keys [], tags []', '6c6b38e45b11d15eb1c632cf138a60fd623b34e4d8079a8c38f56f5ff7dc5cc3', 'd9fc2ee7048f2a31dbdb30adef798d12dc8fc2eec9e6c8114c21f880d2ac3e32');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'token.create', 'viewer 0', 'viewer', 'd9fc2ee7048f2a31dbdb30adef798d12dc8fc2eec9e6c8114c21f880d2ac3e32', 'e09f751dbc932ef6c26e0605df08e8f3a7683f983596de11e3fb94370d2de2e1');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'template.create', '1', 'template 0', 'e09f751dbc932ef6c26e0605df08e8f3a7683f983596de11e3fb94370d2de2e1', '1371f31f4f45b44b61a17f8193c71060ad3cf8550974d7dbd5cd95eaf94abd3f');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.vars', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'set: x', '1371f31f4f45b44b61a17f8193c71060ad3cf8550974d7dbd5cd95eaf94abd3f', '2dff74912f10b96821b3e6ad4e3f19ddedfaf7810ee9b382f5a7859be499b04b');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'tag.vars', 'device 1', 'set: x', '2dff74912f10b96821b3e6ad4e3f19ddedfaf7810ee9b382f5a7859be499b04b', 'c593f15c9592659898ddae0f65f2b66142e2e813ded332bbac5bc5eb4c1fb1c3');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'user.create', 'person0', 'viewer', 'c593f15c9592659898ddae0f65f2b66142e2e813ded332bbac5bc5eb4c1fb1c3', 'bc63941363ec67057884a1619319e02e952dadb7ccd2b6093ecadaab7245f471');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'login', 'person0', 'from ', 'bc63941363ec67057884a1619319e02e952dadb7ccd2b6093ecadaab7245f471', '7f1e9132a814cb68586fc0d78ab0b75e15d878f60f88f8b321bb03c678e09445');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'login-link.create', 'person0', '', '7f1e9132a814cb68586fc0d78ab0b75e15d878f60f88f8b321bb03c678e09445', '73e1167d8ee89c9fb77479e50962c92d89361b99b5aca0397293a8c56be81f9d');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'enrollment.reject', 'GIAAAAA-AAAAAAK-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'laptop from 192.0.2.7', '73e1167d8ee89c9fb77479e50962c92d89361b99b5aca0397293a8c56be81f9d', 'bff093e7f0e41bb9f8e45bc83ed7a3260d3ab400c95b6a7c91ccc5057752a939');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.create', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'device 2', 'bff093e7f0e41bb9f8e45bc83ed7a3260d3ab400c95b6a7c91ccc5057752a939', '47e54873547af5e9bec9403a5c263f7d1ccb495237acda93d03c0a680acc4fc9');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.pinned', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:configuration 1', '47e54873547af5e9bec9403a5c263f7d1ccb495237acda93d03c0a680acc4fc9', 'dee40ab495e5ffbbc3ae2f83438935e6588cca869198f0d2bba736408421c531');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'secret.put', 'secret 1', 'keys [], tags []', 'dee40ab495e5ffbbc3ae2f83438935e6588cca869198f0d2bba736408421c531', '3b5bf2a9ee61990e72ac0e60f4d43944158678cec4280affc3009ca570654ecd');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'token.create', 'viewer 1', 'viewer', '3b5bf2a9ee61990e72ac0e60f4d43944158678cec4280affc3009ca570654ecd', 'ab185f042c7c1ace7003e7fdc16e0babfc83c03caebda0c1dcb575fda2fae875');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'template.create', '2', 'template 1', 'ab185f042c7c1ace7003e7fdc16e0babfc83c03caebda0c1dcb575fda2fae875', '46a16631b4703c1cd6464ae5e2c3eefbf76cd760a1eae106c520ac25616e8821');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.vars', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'set: x', '46a16631b4703c1cd6464ae5e2c3eefbf76cd760a1eae106c520ac25616e8821', 'cecb984148408208a16fb401e3c2698e1a518d5a3f2a90d6234560c6dcc46849');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'tag.vars', 'device 2', 'set: x', 'cecb984148408208a16fb401e3c2698e1a518d5a3f2a90d6234560c6dcc46849', '822285798f3d632abc93f21df8c293272019afe94a2755588abb5133a4070836');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'user.create', 'person1', 'viewer', '822285798f3d632abc93f21df8c293272019afe94a2755588abb5133a4070836', 'b4f0cd0c41536ac22c9fb663d151c51143b2345263fd252744088131a2c45e84');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'login', 'person1', 'from ', 'b4f0cd0c41536ac22c9fb663d151c51143b2345263fd252744088131a2c45e84', '248823ed797b37bae7a3cabb5f201a56a439d4ef27f769a264a4fa97f74a9fe2');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'login-link.create', 'person1', '', '248823ed797b37bae7a3cabb5f201a56a439d4ef27f769a264a4fa97f74a9fe2', 'd63daa587594d95de4c8c0d93a202b58f9dfabe606c469358f25e8c8302f2ce8');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'enrollment.reject', 'GMAAAAA-AAAAAAC-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'laptop from 192.0.2.7', 'd63daa587594d95de4c8c0d93a202b58f9dfabe606c469358f25e8c8302f2ce8', 'f9abda98ede4ebd472f7492c5ded726e702a64248cfc6666ebcaf0e2c4fae579');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'audit.key', '', 'heads are signed by e780506b42e56ab488a5347bbbef637ba24f29f84508b1d2c23e05df712ee4e9 from here on', 'f9abda98ede4ebd472f7492c5ded726e702a64248cfc6666ebcaf0e2c4fae579', 'a238d25a0683d770d0b2ce6ae1e62e021b696c3132654136cf080666c5d3361a');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'token.create', 'admin', 'admin', 'a238d25a0683d770d0b2ce6ae1e62e021b696c3132654136cf080666c5d3361a', 'f93f8f82d9cf506bd61b77b96215c2027e7d1fa402edb30c31971f667ecde2e9');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.tag', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'office', 'f93f8f82d9cf506bd61b77b96215c2027e7d1fa402edb30c31971f667ecde2e9', '5763b8a7e178dd79de2c0eb4b602126ca2a7e1838055f270e9094f8fc987d4fa');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.tag', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'a', '5763b8a7e178dd79de2c0eb4b602126ca2a7e1838055f270e9094f8fc987d4fa', '5fd29d53e8e6aa1d303dc54b879ed56839277a527d5b93d4d18f11cca9b0f08a');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.tag', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'b', '5fd29d53e8e6aa1d303dc54b879ed56839277a527d5b93d4d18f11cca9b0f08a', '8239d928890ae8490c05face545348c5ef45bdf33700dee4cb3a7eb1b4533104');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'muster', 'device.tag', 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'c', '8239d928890ae8490c05face545348c5ef45bdf33700dee4cb3a7eb1b4533104', '2f2c0df812f06e04c4d43eb506c8903da4d64b08f4eae7bca427e25c82646696');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'device.trust', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:0000000000000000000000000000000000000000000000000000000000000001 in place of sha256:configuration 0', '2f2c0df812f06e04c4d43eb506c8903da4d64b08f4eae7bca427e25c82646696', 'f1315f4f7377bf330dcfd9e4a5188396a2b29a1a53a91ef14240e3f11f83cf52');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'device.settings', 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'mode on, restart allowed, reached by way of agent, pin sha256:0000000000000000000000000000000000000000000000000000000000000001', 'f1315f4f7377bf330dcfd9e4a5188396a2b29a1a53a91ef14240e3f11f83cf52', 'ea8ac19d71f2b32604411bb70995110d0cb952b616b7c2a4f22aa513995a3f6d');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'token.create', 'scoped', 'operator, only devices tagged finance, until 2126-01-02T03:04:05Z', 'ea8ac19d71f2b32604411bb70995110d0cb952b616b7c2a4f22aa513995a3f6d', '2c56d05810873745d38c092b257af018946a49f86fceed4392c737abcdc34611');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'tag.protect', 'finance', '', '2c56d05810873745d38c092b257af018946a49f86fceed4392c737abcdc34611', '8ba5d977f17c61e321e35260086f547be506f84a2557269d2baaa490db86a0e8');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'token.rotate', 'scoped', 'operator, only devices tagged finance, until 2126-01-02T03:04:05Z', '8ba5d977f17c61e321e35260086f547be506f84a2557269d2baaa490db86a0e8', '4f95ea78c8fefd167897e6e452774577d51577702d0c7dda96f804367e6f9b99');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'enroll-key.create', 'abcdefgh', 'for 50 devices, tags ["office"], until 2026-10-02T03:04:05Z', '4f95ea78c8fefd167897e6e452774577d51577702d0c7dda96f804367e6f9b99', '37d5c2f212f192eb73e5da2238e343438e41abff9bfb47d716842828a771234c');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'tag.mode', 'office', 'observe', '37d5c2f212f192eb73e5da2238e343438e41abff9bfb47d716842828a771234c', '65959987d4685f2934d0c9c5fe56a19e45b96dfad44e714df58979410dc1c39f');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'template.tag', '1', 'office', '65959987d4685f2934d0c9c5fe56a19e45b96dfad44e714df58979410dc1c39f', 'd2c047a707703f3ad281ba4242241d63db0136ffdb31771f978f4c52147512eb');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'user.create', 'scoped-one', 'viewer, only devices tagged finance', 'd2c047a707703f3ad281ba4242241d63db0136ffdb31771f978f4c52147512eb', 'aaab97fccdbe474fcfb24a41390c380482ebb1fd1c353032b3bcc0d4d252905e');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'signed-on', 'user.create', 'signed-on', 'author', 'aaab97fccdbe474fcfb24a41390c380482ebb1fd1c353032b3bcc0d4d252905e', 'ec6ce099b534a494f457f3ff19bdee20394f4e79635046e6374f26edddd6f522');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'signed-on', 'login', 'signed-on', 'by single sign-on, from ', 'ec6ce099b534a494f457f3ff19bdee20394f4e79635046e6374f26edddd6f522', 'ff5cd9dbf6c801ac465303b7879ba3387d7fdaefc996056893d98b4348a00380');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'user.create', 'left', 'operator', 'ff5cd9dbf6c801ac465303b7879ba3387d7fdaefc996056893d98b4348a00380', '31d80beac17bc0355d4725a5e5bf527da27f385e06259bcead6224a0fe6a4768');
INSERT INTO audit (at, who, what, subject, detail, previous, hash) VALUES
    (1767323045678, 'nora', 'user.disable', 'left', 'operator', '31d80beac17bc0355d4725a5e5bf527da27f385e06259bcead6224a0fe6a4768', '75a5358a25cb991b6fc4c5090f541061be80dd6c10122862c1a6329b5115e0ff');
INSERT INTO sightings (device_id, last_seen_at, found_by) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 1772600767089, '');
INSERT INTO sightings (device_id, last_seen_at, found_by) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 1772600767089, '');
INSERT INTO statuses (device_id, body, created_at, updated_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '{"myID":"AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA","alloc":1,"cpuPercent":2.5,"discoveryEnabled":true,"discoveryMethods":3,"goRoutines":4,"pathSeparator":"/","sys":5,"tilde":"/home/a\u0000\"b","uptime":6,"startTime":"then","addressFixed":true}', 1772600767089, 1772600767089);
INSERT INTO statuses (device_id, body, created_at, updated_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '{"myID":"AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA","alloc":1,"cpuPercent":2.5,"discoveryEnabled":true,"discoveryMethods":3,"goRoutines":4,"pathSeparator":"/","sys":5,"tilde":"/home/a\u0000\"b","uptime":6,"startTime":"then","addressFixed":true}', 1772600767089, 1772600767089);
INSERT INTO versions (device_id, body, created_at, updated_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '{"arch":"arm64","codename":"Hafnium","longVersion":"long","os":"linux","version":"v2.1.3"}', 1772600767089, 1772600767089);
INSERT INTO versions (device_id, body, created_at, updated_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '{"arch":"arm64","codename":"Hafnium","longVersion":"long","os":"linux","version":"v2.1.3"}', 1772600767089, 1772600767089);
INSERT INTO folders (device_id, folder, label) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'music', 'Music');
INSERT INTO folders (device_id, folder, label) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'photos', 'Photos');
INSERT INTO folders (device_id, folder, label) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'music', 'Music');
INSERT INTO folders (device_id, folder, label) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'photos', 'Photos');
INSERT INTO summaries (device_id, folder, body, created_at, updated_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'music', '{"globalBytes":3298534883328,"globalDeleted":4398046511104,"globalDirectories":5497558138880,"globalFiles":6597069766656,"globalSymlinks":7696581394432,"localBytes":8796093022208,"localDeleted":9895604649984,"localDirectories":10995116277760,"localFiles":12094627905536,"localSymlinks":13194139533312,"inSyncBytes":14293651161088,"inSyncFiles":15393162788864,"needBytes":16492674416640,"needDeletes":17592186044416,"needDirectories":18691697672192,"needFiles":19791209299968,"needSymlinks":20890720927744,"ignorePatterns":true,"sequence":23089744183296,"version":24189255811072,"state":"idle","error":"none"}', 1772600767089, 1772600767089);
INSERT INTO summaries (device_id, folder, body, created_at, updated_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'photos', '{"globalBytes":3298534883328,"globalDeleted":4398046511104,"globalDirectories":5497558138880,"globalFiles":6597069766656,"globalSymlinks":7696581394432,"localBytes":8796093022208,"localDeleted":9895604649984,"localDirectories":10995116277760,"localFiles":12094627905536,"localSymlinks":13194139533312,"inSyncBytes":14293651161088,"inSyncFiles":15393162788864,"needBytes":16492674416640,"needDeletes":17592186044416,"needDirectories":18691697672192,"needFiles":19791209299968,"needSymlinks":20890720927744,"ignorePatterns":true,"sequence":23089744183296,"version":24189255811072,"state":"idle","error":"none"}', 1772600767089, 1772600767089);
INSERT INTO summaries (device_id, folder, body, created_at, updated_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'music', '{"globalBytes":3298534883328,"globalDeleted":4398046511104,"globalDirectories":5497558138880,"globalFiles":6597069766656,"globalSymlinks":7696581394432,"localBytes":8796093022208,"localDeleted":9895604649984,"localDirectories":10995116277760,"localFiles":12094627905536,"localSymlinks":13194139533312,"inSyncBytes":14293651161088,"inSyncFiles":15393162788864,"needBytes":16492674416640,"needDeletes":17592186044416,"needDirectories":18691697672192,"needFiles":19791209299968,"needSymlinks":20890720927744,"ignorePatterns":true,"sequence":23089744183296,"version":24189255811072,"state":"idle","error":"none"}', 1772600767089, 1772600767089);
INSERT INTO summaries (device_id, folder, body, created_at, updated_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'photos', '{"globalBytes":3298534883328,"globalDeleted":4398046511104,"globalDirectories":5497558138880,"globalFiles":6597069766656,"globalSymlinks":7696581394432,"localBytes":8796093022208,"localDeleted":9895604649984,"localDirectories":10995116277760,"localFiles":12094627905536,"localSymlinks":13194139533312,"inSyncBytes":14293651161088,"inSyncFiles":15393162788864,"needBytes":16492674416640,"needDeletes":17592186044416,"needDirectories":18691697672192,"needFiles":19791209299968,"needSymlinks":20890720927744,"ignorePatterns":true,"sequence":23089744183296,"version":24189255811072,"state":"idle","error":"none"}', 1772600767089, 1772600767089);
INSERT INTO revision_bodies (device_id, digest, document) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'digest-configuration 0', X'0141f04fb8788c20e85f3e056dfbc3a0d9c301be499448e257c9521463b28d097ebbb40e456214e18f185b9cfc8f49b1d1762d6cba9f563ee08379dd6dc5457bc99c0cefe2b724dda7efe5b4bd04d96b5dd573749e3b87c76c8116311fa3c82dfc51d0588ec0dd8d5efeb62f3b5c9d69d858c30fd1c1442a5b7acc7fc0c81f1c');
INSERT INTO revision_bodies (device_id, digest, document) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'digest-configuration 1', X'0141f04fb8788c20e80d89c5f1e788fc91e8d402ad96078dc89542d701c9f901d054ab7b827df70fc626b3f67b4752b0c76a854b2d5767d9dbff4b7263fb6643982d2b5e85b33d1e03cfdf1387e91b7630299b5495a7b914d8233b3ad60eb30c8f30cf427867d22225ab9aba536bf5f46746162b0611b7436655ea0dbcd50c96');
INSERT INTO revisions (device_id, number, digest, cause, seen_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 1, 'digest-configuration 0', 'daemon', 1772600767089);
INSERT INTO revisions (device_id, number, digest, cause, seen_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 1, 'digest-configuration 1', 'daemon', 1772600767089);
INSERT INTO intents (device_id, generation, plan_digest, observed, cause, writes, outcome, detail, created_at, finished_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, '', '', '', X'0141f04fb8788c20e8605fb6e53adb7c823c442a36dcc80ba00e266b60eab111c09ec928eaf23324c1c85701c780b42ce97cba214b4c8428', '', '', 1767323045678, NULL);
INSERT INTO intents (device_id, generation, plan_digest, observed, cause, writes, outcome, detail, created_at, finished_at) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, '', '', '', X'0141f04fb8788c20e8c399e07c9b7839435e2161c2376b04c2a0d0f5c57d5b805b4adc7ef28f75038d061bf67ba2226aee6462315f6141f7', '', '', 1767323045678, NULL);
INSERT INTO base_entries (device_id, key, kind, base, written, intended, earlier, sent, version, templates, state, run, implied, by_admin) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'gui.password', '', X'0141f04fb8788c20e8cfdf2aeb04c159fbac4d103f3e935425a54163fbf964f71b979ee106b8ec5dc7e69a2d2a4e073f78b6df05ac71f0', X'0141f04fb8788c20e8c712c9a630be2cc65c5f11504b59fe1f340e47aafbd892d4e0675052cc272c6a784014d6fcd291912626a8e8c345a5aa4b', X'0141f04fb8788c20e829643e459de1f0c30946ec8f71ae1657b40115aad1f4e66f6d616c002e4798aa5e3a7362d20fba16d779645843db2bc2e419', X'0141f04fb8788c20e8cdd18710c12fbbe5379f43d7a309d5f808bfec42cccf34f6d5e738587153c530baece6275c129372112f576f8af3ca', X'0141f04fb8788c20e87c886b8e046dbfd6c2f0e4938deb7cde5e5feafa16325cad3f85548479375a034e7a9587b53a1ba9cb4cc840', 0, 'null', '', '', false, false);
INSERT INTO base_entries (device_id, key, kind, base, written, intended, earlier, sent, version, templates, state, run, implied, by_admin) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'gui.password', '', X'0141f04fb8788c20e8e4b82fac28fa55cd9a918f2c2dadbb32f2b12a2a783e64f2a57ce7ea58364be2a08cfbd84052ce801b6ac910f8f0', X'0141f04fb8788c20e85ae1a01154764c6d14db9ed94e0be8369303cd77d3062a3df2c7693632f79d9a094eb710bc4be260074110591e43e48110', X'0141f04fb8788c20e8a47d1d2959532df9520101c18e90aacc0db3d85dfb2cfc51abf0928bdf357630c3b968a47648a0726eb798ea28206d24f588', X'0141f04fb8788c20e889ffa79e2772a4a655576569e1732e51f11619233d343a12d79d79832e1f9ac6159f7ca7fecde9d543706f47299a3e', X'0141f04fb8788c20e8ef654a151ab9586194a64c10adcf15c4f9bce7d198cc795e20f3ef641d9583b1ccb8402e2025dbce1d49a1e4', 0, 'null', '', '', false, false);
INSERT INTO rollouts (generation, status, body, created_at) VALUES
    (3, 'halted', '{"before":2,"carries":[3],"cause":"template 1 tagged","wavePlan":["1","rest"],"waves":[1]}', 1767323045678);
INSERT INTO rollout_members (rollout_id, device_id, position, wave, was, errors, held, from_generation, waived, superseded) VALUES
    (1, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 0, 1, 'inSync', '["docs"]', '["folders.docs"]', 2, false, true);
INSERT INTO holds (device_id, generation, rollout_id) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 2, 1);
INSERT INTO problems (device_id, folder, kind, notice_id, body, announced_at) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'docs', 'folderError', 'n1', '{}', 1767323045678);
INSERT INTO outbox (receiver, body) VALUES
    ('mail', '{}');
INSERT INTO stops (device_id, key, kind, reason, observed, templates, stopped_at, answers) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'options.natEnabled', 'unsaved', 'the disk is full', '', '', 1767323045678, 5);
INSERT INTO folder_roots (tag, path) VALUES
    ('', '~');
INSERT INTO folder_roots (tag, path) VALUES
    ('office', '/srv/sync');
INSERT INTO certificates (device_id, fingerprint, not_before, not_after) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:configuration 0', 1741064767089, 1804136767089);
INSERT INTO certificates (device_id, fingerprint, not_before, not_after) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'sha256:configuration 1', 1741064767089, 1804136767089);
INSERT INTO consents (device_id, key, answer, change, group_id, given_by, given_at, until, unreachable_since, closed_at, intent_id) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'folders.docs', 'consent', 'c1', 1, 'nora', 1767323045678, 1767323045678, 1767323045678, NULL, NULL);
INSERT INTO folder_paths (device_id, path) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', '/srv/sync/docs');
INSERT INTO group_consents (rollout_id, key, change, answer, removals, given_by, given_at) VALUES
    (1, 'folders.docs', 'g1', 'consent', false, 'nora', 1767323045678);
INSERT INTO protected_tags (tag) VALUES
    ('finance');
INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at, disabled_at) VALUES
    ('person0', 'viewer', NULL, 'hash of person0', '', '', 1767323045678, 1767323045678, 1767323045678, NULL);
INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at, disabled_at) VALUES
    ('person1', 'viewer', NULL, 'hash of person1', '', '', 1767323045678, 1767323045678, 1767323045678, NULL);
INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at, disabled_at) VALUES
    ('scoped-one', 'viewer', '["finance"]', '', '', '', 1767323045678, 1767323045678, NULL, NULL);
INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at, disabled_at) VALUES
    ('signed-on', 'author', NULL, '', 'https://id.example', '24400320', 1767323045678, 1767323045678, 1767323045678, NULL);
INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at, disabled_at) VALUES
    ('left', 'operator', NULL, '', '', '', 1767323045678, 1767323045678, NULL, 1767323045678);
INSERT INTO sessions (id, user_name, hash, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('session of person0', 'person0', 'token of person0', '', '', 1772600767089, 1772600767089, 1772600767089, 4928274367089, '', '', X'0141f04fb8788c20e89cf267394b8ee040539cfbb3a938a2b1d67412008060a2b97a09199adba6b2a60797476961e1e043e329041fb12622c81b102f1dd0bb49b7237fd8aaa2f29dba97464a31f133caddcffc129306ea074307aa8c491b632209e014a3d6e0b747a1413630e8f2d7043c');
INSERT INTO sessions (id, user_name, hash, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('session of person1', 'person1', 'token of person1', '', '', 1772600767089, 1772600767089, 1772600767089, 4928274367089, '', '', X'0141f04fb8788c20e8db93689c1ad905f43b376ce1ea03c003239e86dcc6c7e27fe5525224cacf526367bd944d472ef334d396523c7221130b65ac2d4f1b2793b4fbf5a551ad9509650d4614d0b6045f56af39d892ee432d849e203a001f0a12c00c9ddf92770904589f1ef75ca25f49e2');
INSERT INTO sessions (id, user_name, hash, previous_hash, provider_session, created_at, rotated_at, last_used_at, expires_at, address, client, proof) VALUES
    ('s29', 'signed-on', 'h29', '', 'c0ffee', 1767323045678, 1767323045678, 1767323045678, 4922996645678, '', '', X'0141f04fb8788c20e866269f724704a46d624a7ef73f737cef74496b5067eacc38c91ed45e41ccd3c11d7fd63a6e243e08af4a1a9a5548e9515a7f6a12f32e3f0966aff46f9f926a94e92e8af5e4b861154ef0ea2735863e6e1921a86a7afbc91a4ffb3a79cd5ced7aac46bcb1e295b7d8');
INSERT INTO login_links (hash, user_name, made_by, created_at, expires_at, proof) VALUES
    ('code of person0', 'person0', 'muster', 1767323045678, 4928274367089, X'0141f04fb8788c20e86af73ad63ee9f63560e811c2d66ebd550d57a367ca295eaad50dc560029239d62a3170ee4a17f56383e879d93e9e9000dc1d2e979be7faf581a2aa8d467dcbb48d2cccd5b385ecdb0982a75eeaf26d0f3a1b4713237e1da5df389e74c775fdf57d5fa2b7cb0696fa');
INSERT INTO login_links (hash, user_name, made_by, created_at, expires_at, proof) VALUES
    ('code of person1', 'person1', 'muster', 1767323045678, 4928274367089, X'0141f04fb8788c20e81feab9b6589fa4dcf406edc313dc3f080564b76764fc642b1e28651711cbe9225b1455e22ca7d889d633f568910d35cfc48f3d49dc9e58f21add265d1102ca0ca6e2c7f98981cf5d3ac9409168db1517c4c32ca361421e8f6b0c0ac160c11dc0adc15cf0c69af512');
INSERT INTO audit_heads (audit_id, hash, signed_at, signature) VALUES
    (22, 'f9abda98ede4ebd472f7492c5ded726e702a64248cfc6666ebcaf0e2c4fae579', 1767323045678, X'1f51a3bce962a8bb0ecfd6646e3029bd1d0b7c96a78937d7f979df7155c9710c5ed5e79e1fa194c6887e9f8523adb398d322588ebc002b5b3abb62fb1dd08709');
INSERT INTO audit_heads (audit_id, hash, signed_at, signature) VALUES
    (25, '5763b8a7e178dd79de2c0eb4b602126ca2a7e1838055f270e9094f8fc987d4fa', 1767323045678, X'f5b3f82574a14191476f24092b5fd2549f3276f019b09020c69a3d1d14ce09602e1bf55341142fd5461601801abe138071515ca7cdf8a3bfb53fb8ede3716009');
INSERT INTO proofs (name, body) VALUES
    ('tokens', X'0141f04fb8788c20e848d55d46bcd2484110a6f3cdbf061a307a11148eb17861ac752faf63ae8d3f143f1865cdb224370493b895d54a8e0b0282d3e5231b740a49bc5fc8b42c9a4720470f3665456d642522ef84b29a79ff6bb2206ee2b62660ff32cfffb3e8ef3ea1750ad2307f2fbbbb273fbb4baafc9d76b9017998ed4f63514bce59f58e57f6115cd452b112569a44dce625e5e5cad2d9ddf195e168af1fbda342e2f0fb38f0055887fc4abc07302b302bc1be3763b472f4fc1ba13ff76a40c026d59a7030232a8438d582d27f6a7560159a918fbaecb5c421906e422178e9c014ef8ba3f16911660dea3670a3fffbc4c725ac3663ba4133dc0913317ceace43c52f4e1eb006e01f07b7c042854d51760f7d356e0c8faab6874da8b6ea540020840bebc9e769e9477b854da7f8885f114f6cddf90b4a0173e849169e4989aca459de4185abc93a4dc40eae0dab2dabfc90d1dd87089cf561986f566d18a199f0fc2c08');
INSERT INTO proofs (name, body) VALUES
    ('users', X'0141f04fb8788c20e8c90658cf5fc26b06b8049934f3c20f49e9ebedbbbb6330d73899c2e8bd74c6cb65274e32a32de9c6e717fbb911dd6489234a3887a243ccd684a7aa13fd8a310fd83c907b032dad991e68ff35d3ac7487cc47d6572a00eee890ea06a027a81276edb274305c9bdca3bea07a5c3bdf6b98bdba40de2fe1270466c7f3935f386bc0c01d2c21e8308c96a41e7a143515444b73a372d744a6c6b12fbe9108c69170ed792d511a6291a73558b2e206962d82739190c451bc129da4c6a6aa9afa31d0fda94bead5fc289606173d4deb61bc27121374e46e47d41f33b5235069fad918b456c396c180f8f9b3be96cea9f76b8d37cefec00fe3a37ecd84dffd99d520b418ca5ea49e5def6ba5c3b795e0ed32dbd6b7077efb80d77e0582132393e08bb40c08595835fc7beffa1e9b391d509a5005ea8fbdb3483040c96da7757827f800478d50e03ac3e623bba46ae64ee04f8b0ddec0b8f739b0218df4633f4e3ad356a25d9deb9cb331191c9c34c97dacdfde4d806293dc0a2fbabf3c2ba8cf450fa440342501691e86a69a62b6313ce3e0d935c5aa37095c84a1679398cc9913c65ababaebf65a3cd12aa5eac1b54f');
INSERT INTO proofs (name, body) VALUES
    ('secrets', X'0141f04fb8788c20e81c06369e643a5109068b476fdc1d7283a805e77ce8484f617991aee4c51f518474fcfeaaad93fbc0041de88fc3db6d9b03d3afa206cad4cbae9932c6b31fef1bf3dd48d24f1308f43d337e8fee7657cd70b668fdd5c15b769542d456f3056f9b78499ba7675354cb8e109832c90acf855e87c429c45d8af132448a346d14eb3d3bf34b4a6d813687adfd7a22a5d5806a90b3653957835b76f9b127bce9a70d93c662988278bfaff287ac8e6aa0a03bf52da23015358f0b3f46222f6faa645ecb5226596fd1');
INSERT INTO proofs (name, body) VALUES
    ('enroll_keys', X'0141f04fb8788c20e8078010338d4fb228a6efb54229feb09ab00f058a403b0d7b7e88afcb44094cde15fa8944c0bf36fee820320fb78b5c22b060548370457b835176fd52c576497ab761a6b5e0487c97aa491da82a6979f36292967420ad64edf3441f51e1efc2538ec24684304d013c07ac4f0c2b91563689242429f1f8cf');
INSERT INTO proofs (name, body) VALUES
    ('audit ends', X'0141f04fb8788c20e83e9c952e16756dd8578dbbace661d5a753551b82abda5a37c3cc8ea1eefa5e13c29e9c41c2fdd862550d42863f2c271a725f32bfc430f491a8e4571e5444870875f78a0ba5cb21cb31757a5f76447d69f5ca7dea249164d8be979a46f8b0da5318ac12aa74c504e5c19c4e7d831a75d361afa21a39451ea116e4004b6bc384d8b95c43d863447b12989d0401a0144c9c9298f2299d824940fed229492b77d6f339b8fd8a80f939fe7ba9fe4759950d29be4f75d26f6d68bbf8c685acdeb765efcd3ec2558dca66c5484bf8ac37d2e9e3658651cc0ff216656df8c1bfac6f586510d08b1fb712efddd5a721752b91aa4c183291102061edce2cca1064e7251bb14352b0218fa520ecbb6489a333c7909822d96b1c6f05278c53be639876d2d85fb5a04e20e769ec25a0f60fb60c31565fcdd0b6f2a4e2ec52ae2ca03d6bfbce06f79bee4ab9c351d334957cf56c08589d71ab6e1082202bed441e9a32f875445da770d0ba64289a0d967a8776103a6f8be0015d6fcc716ef98045bd10fb366345c1d1bc7a04cb30cb6b2903ade038090cb3eaa0e65bebc0afa1e4e56ae2cc9bdfe122e256a42dc00a27db3d0e330825eec2d311a63f0044eac81a767c233895cb6ca8abcb3eaec97eba88306c82594492550efa18cbdb8922f2b54779f443485d65757f7205ec8db9c29d12b4300cb9153ce870faef9e9e147537b0bf484f8666180bed7bc4bb1eb14b51439a1250f7c0acddf99491fb69e50c52ebb966a26303b74e246449fa2a9dbfd76fa509630c5fe2da4b7d25819d9b63bf7e9c0e5a0329fe596fd7c8c1a8e1b392de5611de78b015433f008361247b01c5ed8dfc7c3b54c939444029b7b2d607f79b6eb11e62b0b1d261efc4db528444c9cc2ec45a12b15c0098');
INSERT INTO proofs (name, body) VALUES
    ('audit signing key', X'0141f04fb8788c20e874b7f4096bea35f008ee3d1d0bfdd44e83827ad1df4fbf2bd2c27aa8174739f9bbf8129c96e787368748a418674e723441708c01e2e8aed28ae0fb51209acd458ae9b2ae0696c3d478fcdaa6dfb488207fe9c9a428ad');
INSERT INTO used_sign_ons (hash, expires_at) VALUES
    ('c0ffee', 4922996645678);
INSERT INTO enroll_keys (id, hash, tags, uses, used, created_by, created_at, expires_at, last_used_at) VALUES
    ('abcdefgh', 'c0ffee', '["office"]', 50, 0, 'nora', 1767323045678, 1790910245678, NULL);
INSERT INTO enrollment_decisions (device_id, decision, name, system, version, address, api_port, first_seen_at, last_seen_at, decided_by, decided_at, proof) VALUES
    ('GIAAAAA-AAAAAAK-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'rejected', 'laptop', 'linux/amd64', 'v1', '192.0.2.7', 8384, 1772600767089, 1772600767089, 'muster', 1767323045678, X'0141f04fb8788c20e8ad6dea21e1e23f7f788d1235811ae9322218c7d9fdd82c6c413c440ed16e331b85f36e1eb83b91da3f7f762f608d81a098622b211944e8af0768321b9c5df644462be7713a94e8a504e6d60694039fed15541a83b8a3ffe5cb82994b700f9dddc97ad4ddbe27d7ed13ab7626d4cd6692bc29410c6e5c4562df182edbf5b706492ef7efd957c887ae8ef59eed313af4730ed1d8d036ae14486c7ce5d4dc93c079b15cfc92ab2b9fc204eafbb4b0faf000c320750410acd61e5920056e');
INSERT INTO enrollment_decisions (device_id, decision, name, system, version, address, api_port, first_seen_at, last_seen_at, decided_by, decided_at, proof) VALUES
    ('GMAAAAA-AAAAAAC-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 'rejected', 'laptop', 'linux/amd64', 'v1', '192.0.2.7', 8384, 1772600767089, 1772600767089, 'muster', 1767323045678, X'0141f04fb8788c20e8570c526d250cc655705c8901d942f66610950564352330515b11750361d63ab8d13769e88064cbc8e9eb7f34292a8dd82a3f39fa31c25040a20a7edcfc45bd5ef5a16c4b0d5df92897437357c962e35e4f0bfd4374dcbaa85d1502908086ee1d85d2d32bedadf634c67fad4ba54ec2045d489066ad20e132e8c530a0661cc6318edac8368c006967052fc72104579765aa0b45301f8e7b368a1d9a80e524c2c83e02097e48eefcf2e938481fbbdb1a85499c91dd723537aa01b9afe4');
INSERT INTO history (step, began_at, devices, online, in_sync, waiting, need_bytes, problems, written) VALUES
    (60, 1767323040000, 3, 2, 1, 1, 4096, 0, 1);
INSERT INTO history (step, began_at, devices, online, in_sync, waiting, need_bytes, problems, written) VALUES
    (3600, 1767322800000, 3, 2, 1, 1, 4096, 0, 1);
INSERT INTO orders (type, folder, major, tag, devices, done, skipped, status, reason, made_by, began_at, ended_at) VALUES
    ('restart', '', false, 'all', '["AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA"]', 1, '[]', 'done', '1 of 1 devices', 'admin', 1767323045678, 1767323055678);
INSERT INTO sources (name, read_only, assertions) VALUES
    ('office', true, '[{"name":"a","all":true,"absent":["ldap"]}]');
INSERT INTO template_origins (template_id, source, name) VALUES
    (1, 'office', 'labels');
INSERT INTO template_origins (template_id, source, name) VALUES
    (77, '', 'gone');
INSERT INTO device_vars (device_id, vars, saved_by, saved_role) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e8d93a3ae96560f22a719692e55ebd28ce0788643a02177ebab43da1d53c17c23d9b4b621765ebad7185e5a5ad5de208', 'muster', '');
INSERT INTO device_vars (device_id, vars, saved_by, saved_role) VALUES
    ('AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e8630a8867dcb9344d7d1de346814bb425d0c40269265ab6df228978193eba71d1f32dcd6501846a20fe1d479402e6b6', 'muster', '');
INSERT INTO tag_vars (tag, vars, saved_by, saved_role) VALUES
    ('device 1', X'0141f04fb8788c20e8da08afdfdff53b1e71cc45405016b9c0fa5c15e5a31c4348fddb30d061e6c4ca286ba78bce6b746e166b4e774dd257', 'muster', '');
INSERT INTO tag_vars (tag, vars, saved_by, saved_role) VALUES
    ('device 2', X'0141f04fb8788c20e8872fc8e267b2641c44063a491f7ad0449bc46928517ea8a106fb4284df65054c6043fe74fba816c4b4d024cfb37d0c', 'muster', '');
INSERT INTO device_vars_history (generation, device_id, vars, saved_by, saved_role) VALUES
    (2, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e8da26d25235854c8a6a35c35def319fc89c3ca2d1fafc23b9010dfb5809fab617b6f2a5a39f4382a8aa991b15b0ed2e', 'muster', '');
INSERT INTO device_vars_history (generation, device_id, vars, saved_by, saved_role) VALUES
    (5, 'AIAAAAA-AAAAAAQ-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e8a7404c79069f14e55a5abf1ff0458e5098dfb1619ff10760aa89f04386bb9b3c13f46a64f4ab636d809686ef97623a', 'muster', '');
INSERT INTO tag_vars_history (generation, tag, vars, saved_by, saved_role) VALUES
    (3, 'device 1', X'0141f04fb8788c20e869037d53300803f5ddb398721e58db2ad344dcb95edb76db5976becedc7d263d9c959ef11d29fd59ba86854e5e1fb1', 'muster', '');
INSERT INTO tag_vars_history (generation, tag, vars, saved_by, saved_role) VALUES
    (6, 'device 2', X'0141f04fb8788c20e83b4289994c71197395e01cc3e343510ce3dedaa2e6f9da61d2fd86d0f8069b04775d905bf826bb1442a56462a994a9', 'muster', '');
