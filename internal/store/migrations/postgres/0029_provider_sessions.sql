-- +goose Up
-- SHA-256, hex, of the session at the provider of single sign-on that a session was started from: it ends when the
-- provider says that the person has logged out there. '' where the provider names none, and for other sessions.
ALTER TABLE sessions ADD COLUMN provider_session TEXT NOT NULL DEFAULT '';
