package enrollment

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// kept plays the store: it counts the readings, and registers what it is asked to.
type kept struct {
	Store
	keys       []fleet.EnrollKey
	reads      int
	decisions  int
	registered []fleet.Enrollment
	refuses    error
	rejected   map[fleet.DeviceID]bool
	registry   fleet.Registry
	renewed    int
}

func (k *kept) Registry(context.Context) (*fleet.Registry, error) { return &k.registry, nil }
func (k *kept) RenewDevice(_ context.Context, r fleet.Renewal) (fleet.Device, error) {
	k.renewed++
	is := k.registry.Devices[r.Device]
	is.APIKey, is.APIPort = r.APIKey, r.APIPort
	return is.Device, nil
}
func (k *kept) EnrollKeys(context.Context) ([]fleet.EnrollKey, error) {
	k.reads++
	return k.keys, nil
}
func (k *kept) CreateEnrollKey(_ context.Context, key fleet.EnrollKey) error {
	k.keys = append(k.keys, key)
	return nil
}
func (k *kept) DeleteEnrollKey(context.Context, string) error {
	k.keys = nil
	return nil
}
func (k *kept) Apply(_ context.Context, edit fleet.Edit, _ fleet.Basis) (fleet.Applied, error) {
	if k.refuses == nil {
		k.registered = append(k.registered, *edit.Enroll)
	}
	return fleet.Applied{Device: edit.Enroll.Device}, k.refuses
}
func (k *kept) EnrollmentDecision(_ context.Context, id fleet.DeviceID) (fleet.EnrollmentDecision, error) {
	k.decisions++
	if k.rejected[id] {
		return fleet.EnrollmentDecision{Rejected: &fleet.EnrollmentRequest{}}, nil
	}
	return fleet.EnrollmentDecision{}, nil
}
func (k *kept) RejectedEnrollments(context.Context) ([]fleet.EnrollmentRequest, error) {
	return nil, nil
}

func newEnrollments(k *kept) *Enrollments {
	return New(Options{Store: k, Changes: k, Log: slog.New(slog.DiscardHandler), ChallengeKey: []byte("key"),
		RefuseIP: func(netip.Addr, bool) string { return "" }})
}

func deviceN(n int) fleet.DeviceID { return fleet.DeviceIDOf([32]byte{byte(n), byte(n >> 8)}) }

func admit(t *testing.T, e *Enrollments, a fleet.Arrival) fleet.EnrollmentAnswer {
	t.Helper()
	answer, err := e.Admit(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestGuessedKeysCostNoReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{}
		e := newEnrollments(k)
		guess := fleet.NewSecret(fleet.EnrollKeyPrefix + "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz")
		for n := range 1000 {
			if got := admit(t, e, fleet.Arrival{Device: deviceN(n), Key: guess}); got.Status != fleet.EnrollmentRefused {
				t.Fatalf("got %+v", got)
			}
		}
		if k.reads != 1 || k.decisions != 0 || e.Counts().Waiting != 0 {
			t.Errorf("the keys were read %d times, decisions %d times; %+v", k.reads, k.decisions, e.Counts())
		}
		text, _, err := e.CreateKey(t.Context(), fleet.EnrollKey{Uses: 1, ExpiresAt: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		arrival := fleet.Arrival{Device: deviceN(1), Key: fleet.NewSecret(text), Name: "laptop"}
		if got := admit(t, e, arrival); got.Status != fleet.EnrollmentAccepted || len(k.registered) != 1 {
			t.Errorf("a key that was just made: got %+v", got)
		}
		if err := e.RevokeKey(t.Context(), k.keys[0].ID); err != nil {
			t.Fatal(err)
		}
		if got := admit(t, e, arrival); got.Status != fleet.EnrollmentRefused {
			t.Errorf("a key that was just revoked: got %+v", got)
		}
		k.keys = nil // another server made it, and revoked it
		time.Sleep(2 * keysKnownFor)
		if _, err := e.Recognise(t.Context(), text); fleet.CodeOf(err) != fleet.CodeForbidden || k.reads != 4 {
			t.Errorf("got %v after %d readings", err, k.reads)
		}
	})
}

func TestARequestIsListedForADayAfterItsAgentLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnrollments(&kept{})
		admit(t, e, fleet.Arrival{Device: deviceN(1), Address: "192.0.2.1"})
		admit(t, e, fleet.Arrival{Device: deviceN(2), Address: "192.0.2.1"})
		first := time.Now()
		time.Sleep(48 * time.Hour)
		e.Left(deviceN(2))
		time.Sleep(23 * time.Hour)
		all, err := e.Requests(t.Context())
		if err != nil || len(all) != 2 || !all[0].FirstAt.Equal(first.UTC()) {
			t.Fatalf("got %+v, %v", all, err)
		}
		for _, asks := range all {
			if since := time.Since(asks.LastAt); asks.Device == deviceN(1) && since != 0 ||
				asks.Device == deviceN(2) && since != 23*time.Hour {
				t.Errorf("%s was seen %v ago", asks.Device.Short(), since)
			}
		}
		time.Sleep(2 * time.Hour)
		if all, _ = e.Requests(t.Context()); len(all) != 1 || all[0].Device != deviceN(1) {
			t.Errorf("got %+v", all)
		}
	})
}

// listed are the devices that wait.
func listed(t *testing.T, e *Enrollments) map[fleet.DeviceID]bool {
	t.Helper()
	all, err := e.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[fleet.DeviceID]bool{}
	for _, asks := range all {
		ids[asks.Device] = true
	}
	return ids
}

// fill has devices of 16 networks, without agents, take every place but one, which an office's laptop has that left
// before all of them.
func fill(t *testing.T, e *Enrollments) (laptop fleet.DeviceID) {
	t.Helper()
	laptop = deviceN(60_000)
	admit(t, e, fleet.Arrival{Device: laptop, Address: "192.0.2.1"})
	e.Left(laptop)
	time.Sleep(time.Minute)
	for n := range MaxWaiting - 1 {
		admit(t, e, fleet.Arrival{Device: deviceN(n), Address: fmt.Sprintf("2001:db8:0:%x::1", n/MaxWaitingPerAddress)})
		e.Left(deviceN(n))
	}
	return laptop
}

// A device that was rejected pushed another one out of a full list with each of its attempts.
func TestARejectedDeviceTakesNoPlaceInTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{rejected: map[fleet.DeviceID]bool{deviceN(50_000): true}}
		e := newEnrollments(k)
		fill(t, e)
		for range 3 {
			got := admit(t, e, fleet.Arrival{Device: deviceN(50_000), Address: "198.51.100.1"})
			if got.Status != fleet.EnrollmentRefused || got.Message != fleet.Reason(fleet.RejectedEnrollment()) {
				t.Errorf("got %+v", got)
			}
		}
		if n := len(listed(t, e)); n != MaxWaiting {
			t.Errorf("%d devices are listed", n)
		}
	})
}

// Certificates that connect and leave pushed the devices of others out of the list, the first of them first.
func TestCertificatesOfOneNetworkPushOutEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnrollments(&kept{})
		laptop := fill(t, e)
		for n := range 200 {
			id, from := deviceN(40_000+n), fmt.Sprintf("2001:db8:0:%x::1", 100+n%4)
			if got := admit(t, e, fleet.Arrival{Device: id, Address: from}); got.Status != fleet.EnrollmentWaiting {
				t.Fatalf("got %+v", got)
			}
			e.Left(id)
		}
		if ids := listed(t, e); !ids[laptop] || len(ids) != MaxWaiting {
			t.Errorf("the laptop is listed: %v, with %d devices", ids[laptop], len(ids))
		}
	})
}

func TestAChallengeEndsAfterTwoMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnrollments(&kept{})
		text, _ := e.Challenge()
		time.Sleep(challengeLife - time.Second)
		if err := e.checkChallenge(text); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if err := e.checkChallenge(text); fleet.CodeOf(err) != fleet.CodeForbidden {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyALabelThatNobodyGaveIsMadeUnique(t *testing.T) {
	k := &kept{}
	e := newEnrollments(k)
	for label, own := range map[string]bool{"": true, "nas": false} {
		k.registered = nil
		admit(t, e, fleet.Arrival{Device: deviceN(1), Name: "vm", Address: "192.0.2.1"})
		if _, err := e.Accept(t.Context(), deviceN(1), label, nil); err != nil || k.registered[0].OwnName != own {
			t.Errorf("%q: got %+v, %v", label, k.registered, err)
		}
	}
}
