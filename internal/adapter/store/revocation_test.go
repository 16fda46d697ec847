package store

import (
	"errors"
	"testing"

	"muster/internal/fleet"
)

func revoke(t *testing.T, s *Store, one fleet.Revocation) {
	t.Helper()
	must(s.ApplyEdit(t.Context(), fleet.Edit{Revoke: []fleet.Revocation{one}}.SavedBy("root", fleet.RoleAdmin),
		fleet.Basis{}))(t)
}

// TestARevocationOutlivesItsDeviceAndTheServer: it is about a device ID, and holds at every generation.
func TestARevocationOutlivesItsDeviceAndTheServer(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		d := put(t, s, deviceN(1))
		before := must(s.Registry(t.Context()))(t).Generation
		revoke(t, s, fleet.Revocation{Device: d.ID, Label: "laptop", Reason: "stolen"})
		again := fleet.Edit{Revoke: []fleet.Revocation{{Device: d.ID, Reason: "again"}}}
		if _, err := s.ApplyEdit(t.Context(), again, fleet.Basis{}); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("revoked again: %v", err)
		}
		must(s.ApplyEdit(t.Context(), fleet.Edit{Remove: []fleet.DeviceID{d.ID}}, fleet.Basis{}))(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		now := must(s.Registry(t.Context()))(t)
		is := now.Revocations[d.ID]
		if is.Label != "laptop" || is.Reason != "stolen" || is.By != "root" || is.At.IsZero() ||
			now.Generation != before+1 {
			t.Errorf("got %+v in generation %d, was %d", is, now.Generation, before)
		}
		if past := must(s.RegistryAt(t.Context(), before))(t); !past.IsRevoked(d.ID) {
			t.Error("a device that is held at an earlier generation would let it in")
		}
		must(s.ApplyEdit(t.Context(), fleet.Edit{Readmit: []fleet.DeviceID{d.ID}}, fleet.Basis{}))(t)
		if now := must(s.Registry(t.Context()))(t); now.IsRevoked(d.ID) {
			t.Error("the revocation was deleted, and is in force")
		}
		_, err := s.ApplyEdit(t.Context(), fleet.Edit{Readmit: []fleet.DeviceID{d.ID}}, fleet.Basis{})
		if fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("deleted twice: %v", err)
		}
	})
}

// TestARevokedDeviceDoesNotEnrol: neither an admin's accept nor an enrol key registers it.
func TestARevokedDeviceDoesNotEnrol(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := deviceN(1)
		revoke(t, s, fleet.Revocation{Device: d.ID})
		_, err := s.ApplyEdit(t.Context(), fleet.Edit{Enroll: &fleet.Enrollment{Device: d}}, fleet.Basis{})
		var refused *fleet.Error
		if !errors.As(err, &refused) || refused.Code != fleet.CodeForbidden || refused.Hint == "" {
			t.Errorf("got %v", err)
		}
	})
}
