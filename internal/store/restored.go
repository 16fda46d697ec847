package store

import (
	"encoding/json"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// restoredBody is fleet.Restored as meta has it.
type restoredBody struct {
	BackupAt time.Time `json:"backupAt"`
	At       time.Time `json:"at"`
}

func parseRestored(text string) (*fleet.Restored, error) {
	var body restoredBody
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		return nil, fmt.Errorf("read when the database was restored: %w", err)
	}
	return new(fleet.Restored(body)), nil
}

// endRestored forgets that the database was restored: a person resumed.
func (t *tx) endRestored() error {
	t.register(func(c *contents) { c.restored = nil })
	return t.exec(`DELETE FROM meta WHERE name = 'restored'`)
}
