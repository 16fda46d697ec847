package reconcile

import (
	"context"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// TakesBack says why templates would take back one of the changes that made a document of a device; "" when they would
// let them be. Nothing is sent, and the daemon is not asked: whoever asks has the connection to it.
func (e *Engine) TakesBack(ctx context.Context, id fleet.DeviceID, doc stconfig.Value, changes []stconfig.Change) (string, error) {
	j, err := e.jobOf(ctx, id)
	if err != nil {
		return "", err
	}
	j.doc, j.digest = doc, stconfig.Digest(doc)
	if err := e.think(ctx, j, false); err != nil {
		return "", err
	}
	for _, c := range changes {
		is := stconfig.Lookup(j.result.Desired, c.Key)
		if c.From.Exists() && !is.Equal(c.To) || !is.Exists() {
			return j.whoTakesBack(c.Key), nil
		}
	}
	return "", nil
}

func (j *job) whoTakesBack(key stconfig.Key) string {
	for _, c := range j.plan.Changes {
		if len(c.Templates) > 0 && (c.Key.HasPrefix(key) || key.HasPrefix(c.Key)) {
			return fmt.Sprintf("template %d has %s otherwise, and would take it back", c.Templates[len(c.Templates)-1], key)
		}
	}
	return fmt.Sprintf("the templates have %s otherwise, and would take it back", key)
}
