package view

import (
	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// PlannedChange is a change of a plan in the form that people see.
type PlannedChange struct {
	Key       string
	From, To  []byte // JSON, secrets masked
	Templates []int64
	Class     plan.Class
	Reason    string // names devices by their labels
	Drift     bool
	Returns   bool
	Consented bool // held, and a person consented: it is made once Muster may write to the device
	Answers   []string
	Choices   []fleet.Choice
	Digest    string // consent digest, where the answer of an undo may cover the change; otherwise ""
}

// PlannedChangeOf converts a change. It replaces device IDs by the labels of a registry.
func PlannedChangeOf(change plan.Change, registry *fleet.Registry) PlannedChange {
	from, to := change.Shown()
	return PlannedChange{Key: change.Key.String(), From: from.JSON(), To: to.JSON(), Templates: change.Templates,
		Class: change.Class, Reason: fleet.WithNames(change.Reason, registry.Label), Drift: change.Drift,
		Returns: change.Returns, Consented: change.Class == plan.Held && change.Consented,
		Answers: change.Answers(), Choices: change.Choices()}
}
