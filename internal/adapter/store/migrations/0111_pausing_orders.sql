-- Until this version the newest 500 orders were kept, whatever they did. So a database that has had more may lack orders
-- that pause or resume: nobody is named then for a pause about which nothing else is known.
INSERT INTO meta (name, value)
SELECT 'pausing_orders_lost', '1' WHERE EXISTS (SELECT 1 FROM orders WHERE id > 500);
