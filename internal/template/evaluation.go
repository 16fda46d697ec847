package template

import (
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Evaluation is what evaluating a template on one device gives.
type Evaluation struct {
	Device   fleet.DeviceID // "" for the built-in sample
	Language Language
	Value    stconfig.Value
	Changes  []stconfig.Change // that the template makes to the configuration so far
	Warnings []string
	Output   []string
	Steps    uint64
	Took     time.Duration
}

// Masked is the evaluation of a template at a key as a person may see it. The value has its place only by the key.
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
