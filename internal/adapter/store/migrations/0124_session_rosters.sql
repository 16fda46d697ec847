-- A roster lists the sessions and log-in links that have not ended (see roster.go). Those from before are in none, and
-- end.
DELETE FROM sessions;
DELETE FROM login_links;
