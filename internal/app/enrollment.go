package app

import (
	"context"
	"fmt"

	"muster/internal/discovery"
	"muster/internal/enrollment"
)

// newEnrollments admits devices that are not registered. Every server of the same database recognises the challenges of
// the others.
func (a *App) newEnrollments(ctx context.Context) (*enrollment.Enrollments, error) {
	key, err := a.store.OwnKey(ctx, "enrolment challenges")
	if err != nil {
		return nil, fmt.Errorf("read the key of enrolment challenges: %w", err)
	}
	return enrollment.New(enrollment.Options{
		Store: a.store, Log: a.log, ChallengeKey: key, RefuseIP: discovery.RefuseIP,
	}), nil
}
