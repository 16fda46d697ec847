CREATE TABLE sent_generations (
    -- The newest generation for which Muster sent something to a device, or may have. The gates of a rollout ask for it.
    device_id  TEXT    NOT NULL PRIMARY KEY REFERENCES devices (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    earlier    INTEGER NOT NULL, -- what generation is again if the open intent turns out not to have been sent
    mark       BLOB              -- A keyed mark of the row's content, made by Muster. NULL: the row is not believed.
);

INSERT INTO sent_generations (device_id, generation, earlier)
SELECT device_id, MAX(generation), MAX(generation) FROM intents WHERE outcome <> 'abandoned' GROUP BY device_id;
