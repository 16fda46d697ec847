-- Sealed; NULL: the entry is not that of a device which a template's `remove` took away with a person's consent. Such a
-- device is removed again, without asking, when somebody adds it.
ALTER TABLE base_entries ADD COLUMN revoked BLOB;
