package change

import (
	"context"
	"testing"

	"muster/internal/fleet"
)

// moving is a store in which another generation is in force at each write.
type moving struct{ tries int }

func (m *moving) Registry(context.Context) (*fleet.Registry, error)     { return &fleet.Registry{}, nil }
func (m *moving) Admission(context.Context) (*fleet.Admission, error)   { return &fleet.Admission{}, nil }
func (m *moving) OpenRollouts(context.Context) ([]fleet.Rollout, error) { return nil, nil }
func (m *moving) ApplyEdit(context.Context, fleet.Edit, fleet.Basis) (fleet.Applied, error) {
	m.tries++
	return fleet.Applied{}, fleet.Overtaken(7)
}

// Who named no generation has no plan to make again.
func TestWhoNamedNoGenerationIsToldToAskAgain(t *testing.T) {
	edit := fleet.Edit{Deleted: []int64{1}}
	for name, test := range map[string]struct {
		basis fleet.Basis
		tries int
		want  error
	}{
		"none named":   {fleet.Basis{}, maxTries, fleet.ChangedMeanwhile(nil)},
		"one is named": {fleet.Basis{Generation: new(int64(0))}, 1, fleet.Overtaken(7)},
	} {
		m := &moving{}
		_, err := New(Options{Store: m}).Apply(t.Context(), edit, test.basis)
		if m.tries != test.tries || fleet.CodeOf(err) != fleet.CodePrecondition ||
			fleet.Reason(err) != fleet.Reason(test.want) {
			t.Errorf("%s: got %v after %d tries", name, err, m.tries)
		}
	}
}
