-- The session of a browser has two halves: the token in the cookie, and a secret that the page keeps. Sessions from
-- before have only the first, and end.
DELETE FROM sessions;
ALTER TABLE sessions ADD COLUMN half TEXT NOT NULL DEFAULT ''; -- SHA-256, hex, of the second half; '': of a program
