-- Rows as version 31 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO history (step, began_at, devices, online, in_sync, waiting, need_bytes, problems, written) VALUES
    (60, 1767323040000, 3, 2, 1, 1, 4096, 0, 1), (3600, 1767322800000, 3, 2, 1, 1, 4096, 0, 1);
