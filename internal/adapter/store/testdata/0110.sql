-- Rows of what version 110 added.
INSERT INTO folder_histories VALUES (1, 'photos');
INSERT INTO folder_figures VALUES (1, 60, 1767225600000, 3, 2, 700, 4096, 1);
INSERT INTO folder_figures VALUES (1, 3600, 1767225600000, 3, 2, 700, 4096, 1);
