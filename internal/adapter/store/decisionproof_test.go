package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

func (s *tampered) reject(n int) fleet.DeviceID {
	s.t.Helper()
	return reject(s.t, s.Store, n)
}

// reject keeps a rejection of device n.
func reject(t *testing.T, s *Store, n int) fleet.DeviceID {
	t.Helper()
	id := deviceN(n).ID
	asks := fleet.EnrollmentRequest{FirstAt: seenAt, LastAt: seenAt,
		Arrival: fleet.Arrival{Device: id, Name: "laptop", System: "linux/amd64", Version: "v1", Address: "192.0.2.7",
			APIPort: 8384}}
	if err := s.RejectEnrollment(t.Context(), asks); err != nil {
		t.Fatal(err)
	}
	return id
}

// remove registers device n and deletes it again.
func (s *tampered) remove(n int) fleet.DeviceID {
	s.t.Helper()
	id := put(s.t, s.Store, deviceN(n)).ID
	if err := s.DeleteDevice(s.t.Context(), id, nil); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// wantKeptOut checks that an enrol key does not register device n.
func (s *tampered) wantKeptOut(when string, n int, key fleet.EnrollKey) {
	s.t.Helper()
	if _, err := s.EnrollDevice(s.t.Context(), enrolling(n, key)); fleet.CodeOf(err) != fleet.CodeForbidden {
		s.t.Errorf("%s: got %v", when, err)
	}
}

func (s *tampered) wantDecisionsNamed(when string) {
	s.t.Helper()
	if rows := s.verify().Rows; !slices.ContainsFunc(rows, func(row string) bool {
		return strings.Contains(row, "decision")
	}) {
		s.t.Errorf("%s: verify finds %q", when, rows)
	}
}

// Who could write to the database let a rejected or deleted device in with any valid enrol key.
func TestAForgedDecisionLetsNothingIn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		key := enrollKey(t, s.Store, 1, 99)
		s.remove(100) // its row is put in place of others
		s.keep(decisionRows)
		n := 0
		for _, forge := range []string{
			`UPDATE enrollment_decisions SET decision = 'deleted', decided_at = 1 WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET decision = 'accepted' WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET decided_at = 1 WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET name = 'another' WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET device_id = device_id || 'X' WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET proof = NULL WHERE device_id = $1`,
			`DELETE FROM enrollment_decisions WHERE device_id = $1`,
			`UPDATE enrollment_decisions SET proof = (SELECT proof FROM kept_enrollment_decisions) WHERE device_id = $1`,
		} {
			for _, decide := range []func(int) fleet.DeviceID{s.reject, s.remove} {
				n++
				id := decide(n)
				s.wantKeptOut("before "+forge, n, key)
				s.exec(`CREATE TABLE saved AS SELECT * FROM enrollment_decisions`)
				s.exec(forge, string(id))
				s.wantKeptOut(forge, n, key)
				s.wantDecisionsNamed(forge)
				s.exec(`DELETE FROM enrollment_decisions`)
				s.exec(`INSERT INTO enrollment_decisions SELECT * FROM saved`)
				s.exec(`DROP TABLE saved`)
				if _, err := s.EnrollDevice(t.Context(), enrolling(200+n, key)); err != nil {
					t.Errorf("%s, put right: %v", forge, err)
				}
			}
		}
	})
}

func TestAfterAForgeryOnlyKeysThatAreMadeLaterRegisterDevices(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := time.Now().UTC().Truncate(time.Millisecond)
		options.Now = func() time.Time { return clock }
		s := newTampered(t, options)
		before := enrollKey(t, s.Store, 1, 9)
		clock = clock.Add(time.Minute)
		id := s.reject(1)
		s.exec(`DELETE FROM enrollment_decisions`)
		s.restart(options)
		if s.Tampering() == nil || !s.recorded(decisionRows) {
			t.Errorf("it is not found at the start: %+v", s.Tampering())
		}
		s.wantKeptOut("after a restart", 1, before)
		s.wantKeptOut("another device", 2, before)
		s.exec(`DELETE FROM enrollment_decisions`) // once more
		s.restart(options)
		s.wantKeptOut("after another restart", 1, before)
		s.restart(options)
		if s.Tampering() != nil {
			t.Errorf("it is found at each start: %+v", s.Tampering())
		}

		clock = clock.Add(time.Hour / 2)
		later := before
		later.ID, later.Hash, later.CreatedAt, later.ExpiresAt = "another1", "another", clock, clock.Add(time.Hour)
		if err := s.CreateEnrollKey(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EnrollDevice(t.Context(), enrolling(2, later)); err != nil {
			t.Errorf("with a key of later: %v", err)
		}
		s.wantKeptOut("at the end", 3, before)
		accepted := enrolling(1, fleet.EnrollKey{})
		if _, err := s.EnrollDevice(t.Context(), accepted); err != nil {
			t.Errorf("an administrator accepts %s: %v", id.Short(), err)
		}
		if rows := s.verify().Rows; len(rows) > 0 {
			t.Errorf("verify finds %q", rows)
		}
	})
}

// A row for a certificate of their own, with a name that is trusted, would be what an administrator accepts.
func TestAForgedRejectionIsNotListed(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		s.reject(1)
		s.exec(`INSERT INTO enrollment_decisions (device_id, decision, name, system, version, address, api_port, decided_by,
			decided_at) VALUES ($1, 'rejected', 'laptop', '', '', '', 8384, 'admin', 1)`, string(deviceN(2).ID))
		if all := must(s.RejectedEnrollments(t.Context()))(t); len(all) != 1 || all[0].Device != deviceN(1).ID {
			t.Errorf("got %+v", all)
		}
		if d := must(s.EnrollmentDecision(t.Context(), deviceN(2).ID))(t); !d.Altered || d.Rejected != nil {
			t.Errorf("got %+v", d)
		}
		if err := s.ForgetRejection(t.Context(), deviceN(2).ID); err != nil {
			t.Error(err)
		}
		if rows := s.verify().Rows; len(rows) > 0 {
			t.Errorf("verify finds %q", rows)
		}
	})
}

// Decisions and registrations of one batch do not look like a forgery to each other.
func TestDecisionsComeAndGoWithManyWritesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		ring := seal.NewRing(key(t, 1))
		options.Seal = ring
		s := newTampered(t, options)
		made := enrollKey(t, s.Store, 1, 99)
		errs := make(chan error)
		const devices = 20
		for n := range devices {
			go func() {
				var err error
				if _, _, putErr := s.PutDevice(t.Context(), deviceN(n+1), nil); putErr == nil {
					err = s.DeleteDevice(t.Context(), deviceN(n+1).ID, nil)
				}
				_, enrolErr := s.EnrollDevice(t.Context(), enrolling(100+n, made))
				errs <- errors.Join(err, enrolErr)
			}()
		}
		for range devices {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if err := s.DeleteEnrollKey(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		var left int
		if err := s.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM enrollment_decisions`).Scan(&left); err != nil ||
			left != 0 {
			t.Errorf("%d decisions are left, %v", left, err)
		}
		s.reject(90)
		rotate(t, s.Store, ring)
		s.restart(options)
		if rows := s.verify().Rows; len(rows) > 0 || s.Tampering() != nil {
			t.Errorf("verify finds %q, %+v", rows, s.Tampering())
		}
	})
}
