-- Rows of what version 111 added.
INSERT INTO meta (name, value) VALUES ('pausing_orders_lost', '1');
