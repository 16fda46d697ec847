package store

import (
	"context"

	"muster/internal/fleet"
)

// Admission returns the generation to which each device is admitted, as of the last commit. Callers share the value,
// and nobody changes it: a commit that changes the admission makes a new value.
func (s *Store) Admission(context.Context) (*fleet.Admission, error) {
	return s.admission.Load(), nil
}

// loadAdmission reads the admission from the database. The caller has loaded the contents before, and lets no commit
// happen meanwhile.
func (s *Store) loadAdmission(ctx context.Context) error {
	settled, err := s.settled(ctx)
	if err != nil {
		return err
	}
	registry, err := s.RegistryAt(ctx, settled)
	if err != nil {
		return err
	}
	holds, err := s.holds(ctx)
	if err != nil {
		return err
	}
	empty := fleet.NewAdmission(registry, nil, nil)
	pasts, err := s.pastsAfter(ctx, empty, holds)
	if err != nil {
		return err
	}
	s.admission.Store(empty.After(fleet.AdmissionChange{Hold: holds, Pasts: pasts}))
	return nil
}

// pastsOf returns the registry of each generation that holds refer to, by generation. It reads a registry from the
// database only if the present admission does not have it.
func (s *Store) pastsOf(ctx context.Context, holds []fleet.Hold) (map[int64]*fleet.Registry, error) {
	return s.pastsAfter(ctx, s.admission.Load(), holds)
}

func (s *Store) pastsAfter(ctx context.Context, a *fleet.Admission, holds []fleet.Hold) (map[int64]*fleet.Registry,
	error) {
	pasts := map[int64]*fleet.Registry{}
	for _, h := range holds {
		if pasts[h.Generation] != nil {
			continue
		}
		past := a.Past(h.Generation)
		if past == nil {
			var err error
			if past, err = s.RegistryAt(ctx, h.Generation); err != nil {
				return nil, err
			}
		}
		pasts[h.Generation] = past // kept here, because an earlier commit of the same batch may drop it
	}
	return pasts, nil
}

// admit notes that the change of the admission takes effect after the commit.
func (t *tx) admit(c fleet.AdmissionChange) {
	t.committed(func() {
		s := t.store
		s.admission.Store(s.admission.Load().After(c))
	})
}
