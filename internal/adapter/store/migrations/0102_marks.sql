-- A keyed mark of the row's content, made by Muster. NULL: the row is not believed.
ALTER TABLE protected_tags ADD COLUMN mark BLOB;
ALTER TABLE folder_roots ADD COLUMN mark BLOB;
ALTER TABLE author_keys ADD COLUMN mark BLOB;
ALTER TABLE tag_modes ADD COLUMN mark BLOB;
ALTER TABLE meta ADD COLUMN mark BLOB;
ALTER TABLE templates ADD COLUMN mark BLOB;
ALTER TABLE template_tags ADD COLUMN mark BLOB;
ALTER TABLE device_tags ADD COLUMN mark BLOB;
ALTER TABLE device_vars ADD COLUMN mark BLOB;
ALTER TABLE tag_vars ADD COLUMN mark BLOB;
ALTER TABLE sources ADD COLUMN mark BLOB;
ALTER TABLE devices ADD COLUMN mark BLOB; -- of the mode and of whether the daemon may be restarted; proof is of its access
ALTER TABLE certificates ADD COLUMN mark BLOB;
ALTER TABLE consents ADD COLUMN mark BLOB;
ALTER TABLE group_consents ADD COLUMN mark BLOB;
ALTER TABLE rollouts ADD COLUMN mark BLOB;
ALTER TABLE generations ADD COLUMN mark BLOB;
ALTER TABLE template_history ADD COLUMN mark BLOB;
ALTER TABLE template_tag_history ADD COLUMN mark BLOB;
ALTER TABLE device_tag_history ADD COLUMN mark BLOB;
ALTER TABLE device_vars_history ADD COLUMN mark BLOB;
ALTER TABLE tag_vars_history ADD COLUMN mark BLOB;
