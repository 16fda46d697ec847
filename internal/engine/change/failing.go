package change

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

const maxFailing = 20 // largest number of devices that an error names

// failing refuses an edit after which no plan could be made for a device that has one now: the device's state would
// be failed, and nothing would be written to it. Devices that fail already, or were never read, do not count. A
// revocation is exempt.
func (j *judgement) failing(ctx context.Context) error {
	if !j.basis.RefuseFailing || j.o.Planner == nil || j.edit.Empty() || j.edit.OnlyRevokes() {
		return nil
	}
	then, err := j.afterwards()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	var failing []plan.Effect
	err = j.o.Planner.WhatIf(ctx, j.now, then, func(e plan.Effect) {
		if e.Err != nil && !e.FailsNow && j.now.Devices[e.Device] != nil && j.sees(e.Device) {
			failing = append(failing, e)
		}
	})
	if err != nil || len(failing) == 0 {
		return err
	}
	slices.SortFunc(failing, func(a, b plan.Effect) int { return strings.Compare(string(a.Device), string(b.Device)) })
	refusal := &fleet.Error{Code: fleet.CodeInvalid, Allowable: true,
		Hint: "Correct it. To store it as it is, say allowFailing (`--allow-failing`): nothing is written to these " +
			"devices until that is mended."}
	for _, e := range failing[:min(len(failing), maxFailing)] {
		refusal.Details = append(refusal.Details, fleet.Detail{Field: "devices", Message: fmt.Sprintf("%s: %s",
			j.nameOf(e.Device), fleet.Reason(e.Err))})
	}
	refusal.Message = fmt.Sprintf("no plan could be made any more for %s of the devices: %s",
		fleet.NumberText(len(failing)), refusal.Details[0].Message)
	return refusal
}

// nameOf returns the name of a device in texts for people.
func (j *judgement) nameOf(id fleet.DeviceID) string {
	if label := j.now.Label(id); label != "" {
		return label + " (" + id.Short() + ")"
	}
	return id.Short()
}
