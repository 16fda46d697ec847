-- Rows of what version 120 added.
INSERT INTO folder_proofs (folder, body, saved_at) VALUES
    ('photos', X'0141f04fb8788c20e8d9f02c1019ca134b9d90922809e763b53bf60bbaba550854628515178c537757f2de761d34b0da9d0a52959697d52e5a4b7a263652f79c7687387a13fcdf05dfb2c1', 1767323045678);
