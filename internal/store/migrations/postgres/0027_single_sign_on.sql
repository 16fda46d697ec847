-- +goose Up
-- Who a provider of single sign-on says that the user is; both '' where the user logs in with a password.
ALTER TABLE users ADD COLUMN issuer  TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN subject TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX users_by_identity ON users (issuer, subject) WHERE subject <> '';

CREATE TABLE used_sign_ons (
    -- An attempt at single sign-on that a session was started for: it starts no other.
    hash       TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the attempt, hex
    expires_at BIGINT NOT NULL             -- when the attempt is too old anyway
);
COMMENT ON TABLE used_sign_ons IS 'An attempt at single sign-on that a session was started for: it starts no other.';
