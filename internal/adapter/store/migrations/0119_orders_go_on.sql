-- Orders that go on after a failure, and why they failed on which devices.
ALTER TABLE orders ADD COLUMN goes_on BOOLEAN NOT NULL DEFAULT false; -- a failure on one device does not end the order
ALTER TABLE orders ADD COLUMN failed TEXT NOT NULL DEFAULT '[]'; -- JSON array of {device, reason}, of an order that goes on
