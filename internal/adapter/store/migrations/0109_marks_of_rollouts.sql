-- A keyed mark of the row's content, made by Muster. NULL: the row is not believed.
ALTER TABLE holds ADD COLUMN mark BLOB;
ALTER TABLE rollout_members ADD COLUMN mark BLOB;
ALTER TABLE template_origins ADD COLUMN mark BLOB;
