-- Rows of what version 128 added. The first start gives the sink its mark.
INSERT INTO sinks (name, body, saved_by, saved_at) VALUES
    ('siem', X'0141f04fb8788c20e850b3ba136596ded216c24eb245545910b9fabdbc273eb3b48fd57e4e3fe5581578506f5759dce2184da26fad78bc98732d8cbbd6b853f9434d4c90d44c87191d4e39295a855fc666ddcb5de433a6c6bf533435b045f193ce5bbfa21c7b02079d2cfe8008745ed4e9a4a81048ed37ab', 'anna', 1767323045678);
INSERT INTO sink_cursors (name, kinds, audit, number, sent, lost, gaps, dead) VALUES ('siem', ',', 3, 4, 5, 0, 0, 1);
INSERT INTO sink_refusals (name, stream, number, at, reason) VALUES ('siem', 'audit', 2, 1767323045678, 'it answers 400');
