package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/fleet"
)

// enrollKeyText is the text of a key of the tests.
func enrollKeyText(n int) string {
	return fleet.EnrollKeyPrefix + fmt.Sprintf("key%05d%s", n, strings.Repeat("x", 44))
}

func enrollKey(t *testing.T, s *Store, n, uses int, tags ...fleet.Tag) fleet.EnrollKey {
	t.Helper()
	id, ok := fleet.EnrollKeyID(enrollKeyText(n))
	now := time.Now().UTC().Truncate(time.Millisecond)
	key := fleet.EnrollKey{ID: id, Hash: fleet.EnrollKeyHash(enrollKeyText(n)), Tags: tags, Uses: uses, CreatedBy: "admin",
		CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	if err := s.CreateEnrollKey(t.Context(), key); err != nil || !ok {
		t.Fatal(err, ok)
	}
	return key
}

func enrolling(n int, key fleet.EnrollKey) fleet.Enrollment {
	d := deviceN(n)
	d.APIKey, d.APIAddress = fleet.Secret{}, ""
	return fleet.Enrollment{Device: d, KeyHash: key.Hash}
}

func TestAKeyRegistersNoMoreDevicesThanItsUsesUnderConcurrency(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		const uses, devices = 20, 60
		key := enrollKey(t, s, 1, uses, "office")
		var wg sync.WaitGroup
		errs := make([]error, devices)
		for n := range devices {
			wg.Go(func() { _, errs[n] = s.EnrollDevice(t.Context(), enrolling(n+1, key)) })
		}
		wg.Wait()
		registered := 0
		for _, err := range errs {
			if err == nil {
				registered++
			} else if fleet.CodeOf(err) != fleet.CodeForbidden || !strings.Contains(err.Error(), "used up") {
				t.Error(err)
			}
		}
		registry := must(s.Registry(t.Context()))(t)
		if registered != uses || len(registry.Devices) != uses {
			t.Errorf("%d were told that they are registered, and %d are", registered, len(registry.Devices))
		}
		for id, d := range registry.Devices {
			if !slices.Equal(d.Tags, []fleet.Tag{"office"}) || d.Altered || !d.APIKey.IsZero() {
				t.Errorf("%s: got %+v", id, d)
			}
		}
		if keys := must(s.EnrollKeys(t.Context()))(t); keys[0].Used != uses || keys[0].LastUsedAt.IsZero() {
			t.Errorf("got %+v", keys)
		}
	})
}

func TestAForgedEnrolKeyGivesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		for n, forge := range []string{
			`UPDATE enroll_keys SET uses = 99 WHERE id = $1`,
			`UPDATE enroll_keys SET used = 0 WHERE id = $1`,
			`UPDATE enroll_keys SET expires_at = expires_at + 999999999 WHERE id = $1`,
			`UPDATE enroll_keys SET tags = '["servers"]' WHERE id = $1`,
			`UPDATE enroll_keys SET hash = 'deadbeef' WHERE id = $1`,
			`DELETE FROM proofs WHERE name = 'enroll_keys' AND $1 = $1`,
		} {
			key := enrollKey(t, s.Store, n, 2, "office")
			if _, err := s.EnrollDevice(t.Context(), enrolling(10+n, key)); err != nil {
				t.Fatal(err)
			}
			s.exec(forge, key.ID)
			if strings.Contains(forge, "deadbeef") {
				key.Hash = "deadbeef"
			}
			_, err := s.EnrollDevice(t.Context(), enrolling(20+n, key))
			if fleet.CodeOf(err) != fleet.CodeForbidden || !strings.Contains(err.Error(), "not as Muster wrote it") {
				t.Errorf("%s: got %v", forge, err)
			}
			keys := must(s.EnrollKeys(t.Context()))(t)
			if i := slices.IndexFunc(keys, func(k fleet.EnrollKey) bool { return k.ID == key.ID }); !keys[i].Altered {
				t.Errorf("%s: got %+v", forge, keys[i])
			}
			if report := s.verify(); !slices.ContainsFunc(report.Rows, func(row string) bool {
				return strings.Contains(row, "enrol key") && strings.Contains(row, key.ID)
			}) {
				t.Errorf("%s: verify says %q", forge, report.Rows)
			}
		}
	})
}

func TestARowThatWasAddedIsNoEnrolKey(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		s.exec(`INSERT INTO enroll_keys (id, hash, tags, uses, used, created_by, created_at, expires_at)
			VALUES ('forged', $1, '["office"]', 9, 0, 'admin', 1, 99999999999999)`, fleet.EnrollKeyHash("forged"))
		_, err := s.EnrollDevice(t.Context(), enrolling(1, fleet.EnrollKey{Hash: fleet.EnrollKeyHash("forged")}))
		if fleet.CodeOf(err) != fleet.CodeForbidden {
			t.Errorf("got %v", err)
		}
		if keys := must(s.EnrollKeys(t.Context()))(t); len(keys) != 1 || !keys[0].Altered {
			t.Errorf("got %+v", keys)
		}
	})
}

func TestAKeyEndsWithItsTimeAndIsForgottenLater(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := time.Now()
		options.Now = func() time.Time { return clock }
		s := open(t, options)
		key := enrollKey(t, s, 1, 2)
		clock = clock.Add(2 * time.Hour)
		if _, err := s.EnrollDevice(t.Context(), enrolling(1, key)); fleet.CodeOf(err) != fleet.CodeForbidden ||
			!strings.Contains(err.Error(), "expired") {
			t.Errorf("got %v", err)
		}
		clock = clock.Add(31 * 24 * time.Hour)
		next := key
		next.ID, next.Hash, next.CreatedAt, next.ExpiresAt = "another1", "another", clock, clock.Add(time.Hour)
		if err := s.CreateEnrollKey(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if keys := must(s.EnrollKeys(t.Context()))(t); len(keys) != 1 || keys[0].ID != "another1" || keys[0].Altered {
			t.Errorf("got %+v", keys)
		}
	})
}

func TestADeviceWithoutAPIKeyIsAsMusterWroteItAndGetsOne(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		key := enrollKey(t, s.Store, 1, 9)
		stored := must(s.EnrollDevice(t.Context(), enrolling(1, key)))(t)
		s.restart(options)
		if d := must(s.Registry(t.Context()))(t).Devices[stored.ID]; d == nil || d.Altered || !d.APIKey.IsZero() {
			t.Fatalf("got %+v", d)
		}
		before := stored.Access()
		after := fleet.Access{Key: fleet.NewSecret("found"), Port: 8484}
		if err := s.ReplaceAccess(t.Context(), stored.ID, before, after); err != nil {
			t.Fatal(err)
		}
		if d := must(s.Registry(t.Context()))(t).Devices[stored.ID]; d.Access() != after {
			t.Errorf("got %+v", d)
		}
		s.wantKeylessRowRefused(options)
	})
}

// wantKeylessRowRefused puts the API key of a device that has one into the state of none.
func (s *tampered) wantKeylessRowRefused(options Options) {
	s.t.Helper()
	id := deviceN(1).ID
	blank := s.seal.Seal("devices", string(deviceN(2).ID), "api_key", nil)
	s.exec(`UPDATE devices SET api_key = $1 WHERE id = $2`, blank, string(id))
	s.restart(options)
	if d := must(s.Registry(s.t.Context()))(s.t).Devices[id]; !d.Altered {
		s.t.Errorf("got %+v", d)
	}
}

// A table that says more than that a key was used would give the key away with each copy of the database.
func TestTheTextOfAnEnrolKeyIsNotInTheDatabase(t *testing.T) {
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1)})
	made := enrollKey(t, s, 1, 2, "office")
	must(s.EnrollDevice(t.Context(), enrolling(1, made)))(t)
	for _, table := range tablesOf(t, s) {
		for _, row := range rowsOf(t, s, table) {
			if row.mentions(enrollKeyText(1)) {
				t.Errorf("%s has %v", table, row)
			}
		}
	}
}

func TestADecisionIsForgottenWithTheKeysThatItIsAbout(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		id := put(t, s, deviceN(1)).ID
		if err := s.DeleteDevice(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		if d := must(s.EnrollmentDecision(t.Context(), id))(t); !d.RemovedAt.IsZero() {
			t.Errorf("without any key: got %+v", d)
		}
		key := enrollKey(t, s, 1, 9)
		put(t, s, deviceN(1))
		if err := s.DeleteDevice(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EnrollDevice(t.Context(), enrolling(1, key)); !errors.Is(err, fleet.ErrRemovedSince) {
			t.Errorf("got %v", err)
		}
		if err := s.DeleteEnrollKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		if d := must(s.EnrollmentDecision(t.Context(), id))(t); !d.RemovedAt.IsZero() {
			t.Errorf("after the key: got %+v", d)
		}
	})
}

// Fifty virtual machines came in as fifty devices with the label "vm".
func TestDevicesThatComeByThemselvesHaveLabelsOfTheirOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		const devices = 8
		var wg sync.WaitGroup
		labels := make([]string, devices)
		for n := range devices {
			wg.Go(func() {
				e := enrolling(n+1, fleet.EnrollKey{})
				e.Device.Label, e.OwnName = "vm", n < devices-1
				if n == devices-2 {
					e.Device.Label = "v%"
				}
				if n == devices-1 {
					e.Device.Label = "V"
				}
				done, err := s.EnrollDevice(t.Context(), e)
				labels[n] = done.Label
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slices.Sort(labels)
		if want := []string{"V", "v%", "vm", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6"}; !slices.Equal(labels, want) {
			t.Errorf("got %q, want %q", labels, want)
		}
		given := enrolling(devices+1, fleet.EnrollKey{})
		given.Device.Label = "vm"
		if done, err := s.EnrollDevice(t.Context(), given); err != nil || done.Label != "vm" {
			t.Errorf("a label that a person gave: got %q, %v", done.Label, err)
		}
	})
}
