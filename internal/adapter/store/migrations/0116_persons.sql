-- The person behind a token, a change and a log-in, so that another person can be asked to approve a rollout.
ALTER TABLE tokens ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- the user who was given its text; '': not known
ALTER TABLE tokens ADD COLUMN old_owner TEXT NOT NULL DEFAULT ''; -- the owner of its text before the last rotation
ALTER TABLE users ADD COLUMN access_given_at INTEGER; -- see fleet.User.AccessGivenAt; NULL: not known
ALTER TABLE generations ADD COLUMN made_by_person TEXT NOT NULL DEFAULT ''; -- a user; '': not known

-- Users and tokens never have the same name at the same time. So a user who was there already made the generation.
UPDATE generations SET made_by_person = made_by WHERE EXISTS (
    SELECT 1 FROM users WHERE users.name = generations.made_by AND users.created_at <= generations.created_at);
