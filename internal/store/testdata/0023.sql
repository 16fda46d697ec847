-- Rows as version 23 of the tables held them, on top of those of the versions before; see 0001.sql.
INSERT INTO audit_heads (audit_id, hash, signed_at, signature) VALUES
    (1, 'c0ffee', 1767323045678, X'01');
INSERT INTO proofs (name, body) VALUES ('another table', X'01');
