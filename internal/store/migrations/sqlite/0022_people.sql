-- +goose Up
CREATE TABLE users (
    -- A person who logs in with a password.
    name          TEXT    NOT NULL PRIMARY KEY, -- lower case
    role          TEXT    NOT NULL,
    password      TEXT    NOT NULL,             -- argon2id hash in PHC form; '' when there is none yet
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,             -- of the role or the password
    last_login_at INTEGER                       -- NULL: never
);

CREATE TABLE sessions (
    -- A log-in of a user, by the hash of its token.
    id            TEXT    NOT NULL PRIMARY KEY, -- shown to people; no credential
    user_name     TEXT    NOT NULL REFERENCES users (name) ON DELETE CASCADE,
    hash          TEXT    NOT NULL UNIQUE,      -- SHA-256, hex
    previous_hash TEXT    NOT NULL,             -- of the token before the last rotation; '' when there was none
    created_at    INTEGER NOT NULL,
    rotated_at    INTEGER NOT NULL,             -- when the token was made
    last_used_at  INTEGER NOT NULL,             -- exact to a minute
    expires_at    INTEGER NOT NULL,             -- the latest end
    address       TEXT    NOT NULL,             -- of the client that logged in
    client        TEXT    NOT NULL              -- what the client calls itself
);
CREATE INDEX sessions_by_user ON sessions (user_name);
CREATE INDEX sessions_by_previous_hash ON sessions (previous_hash);

CREATE TABLE login_links (
    -- A link that sets a password once, by the hash of its code.
    hash       TEXT    NOT NULL PRIMARY KEY, -- SHA-256, hex
    user_name  TEXT    NOT NULL,             -- '' for a new administrator
    made_by    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
