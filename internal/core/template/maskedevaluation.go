package template

import (
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Evaluation is the result of evaluating a template on one device, as it is shown to users.
type Evaluation struct {
	Device   fleet.DeviceID // "" for the built-in sample device
	Language Language
	Value    stconfig.Value
	// the changes of this template to the configuration that the templates before it made
	Changes  []stconfig.Change
	Warnings []string
	Output   []string
	Steps    uint64
	Took     time.Duration
}

// Masked returns the evaluation with its secrets masked. key is the key at which the template applies; together with
// the path inside the value it says which fields are secrets.
func (e Evaluation) Masked(key string) Evaluation {
	if at, err := stconfig.ParseKey(key); err != nil {
		e.Value = stconfig.Mask(e.Value)
	} else {
		e.Value = stconfig.MaskAt(at, e.Value)
	}
	changes := e.Changes
	e.Changes = nil
	for _, c := range changes {
		e.Changes = append(e.Changes, stconfig.Change{
			Key: c.Key, From: stconfig.MaskAt(c.Key, c.From), To: stconfig.MaskAt(c.Key, c.To),
		})
	}
	return e
}
