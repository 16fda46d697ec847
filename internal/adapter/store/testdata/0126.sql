-- Rows of what version 126 added.
INSERT INTO told_groups (channel, kind, tag, body) VALUES
    ('oncall', 'unreachable', 'site:berlin', '{"id":"N1","since":"2026-01-02T03:04:05Z","toldAt":"2026-01-02T03:14:05Z","count":1,"problems":[]}');
INSERT INTO deliveries (channel, sent_at, notice_id, type, summary, accepted, answer) VALUES
    ('oncall', 1767323045678, 'N1', 'problem', '1 device of site:berlin cannot be reached', FALSE, 'it answers 400: invalid_payload');
