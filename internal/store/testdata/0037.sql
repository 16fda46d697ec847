-- Rows as version 37 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO device_vars (device_id, vars, saved_by, saved_role) VALUES
    ('AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e8d656e25914dea1b9d0f23b0d164147329642084f365134daef9131e5091af471606ec0ad81fd24b6d3a6c1665b385b940481fe74fcc6e82b0de00faf802674', 'ada', 'author');
INSERT INTO device_vars_history (generation, device_id, vars, saved_by, saved_role) VALUES
    (2, 'AEAAAAA-AAAAAAY-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA-AAAAAAA', X'0141f04fb8788c20e875fc35eaf4e7289edc5b1b3a4a756e27e14987c1e0fec5272c184a42abf8c127356fb6acf70becffaad4594c3f8a67772e2202eb8df4dd57fe5557ca6f0479', 'ada', 'author');
INSERT INTO tag_vars (tag, vars, saved_by, saved_role) VALUES ('office', X'0141f04fb8788c20e84935d4b0e7af6d69f56405ab1e360fc2c7fc87a146256cde8da5671b471a4a8c783ca31c6ba0bf7bc5bd461df9e4561739dfb943', 'ada', 'admin');
INSERT INTO tag_vars_history (generation, tag, vars, saved_by, saved_role) VALUES (2, 'office', X'0141f04fb8788c20e89aebdd101e18c0665a4ed647596342c5214643cb4b6abf75625d3c2e3f2c56348577f4ee0424adb99a725eb02db6bdaaa6985542', 'ada', 'admin');
