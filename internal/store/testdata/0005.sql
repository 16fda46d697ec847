-- Rows as version 5 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO intents (device_id, generation, plan_digest, observed, writes, outcome, detail, created_at, finished_at, cause) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', 2, 'p1', 'd1', X'00', 'applied', 'options.natEnabled', 1767323045678, 1767323045678, 'template');
