-- With what Muster asks the provider of single sign-on about the person of a session again.
ALTER TABLE sessions ADD COLUMN provider_grant BLOB; -- sealed; NULL: the session keeps nothing of a provider
