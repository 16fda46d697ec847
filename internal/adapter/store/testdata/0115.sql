-- Rows of what version 115 added. The first start gives them marks.
INSERT INTO settings (name, value, set_by, set_at) VALUES
    ('soak', X'0141f04fb8788c20e8663f38cb9fb49b12a2bf00b567a6563431500569d066989b15ee9657371bb324c95f05b6fef50c3efaa1', 'anna', 1767323045678);
