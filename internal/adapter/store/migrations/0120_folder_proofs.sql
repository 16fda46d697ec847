CREATE TABLE folder_proofs (
    -- What was proven of the copies of a folder, and when. It says nothing about later times.
    folder   TEXT    NOT NULL PRIMARY KEY,
    body     BLOB    NOT NULL, -- sealed; see copies.Ledger
    saved_at INTEGER NOT NULL
);
CREATE INDEX folder_proofs_saved_at ON folder_proofs (saved_at);
