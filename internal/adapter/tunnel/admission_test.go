package tunnel

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// Self-made certificates behind the NAT of an office held every place, and its own devices stayed outside.
func TestDevicesThatWaitLockOutNoOtherOnes(t *testing.T) {
	t.Parallel()
	withKey, registered := certificateOf(t), certificateOf(t)
	m := startManager(t, func(r Request) (Status, error) {
		if r.Device == idOf(withKey) || r.Device == idOf(registered) {
			return Status{State: Accepted}, nil
		}
		return Status{State: Waiting}, nil
	})
	m.know(idOf(registered))
	for range 6 {
		m.agent(certificateOf(t), nil).wantState(t, Waiting)
	}
	m.agent(certificateOf(t), nil).wantEnd(t)
	m.until("counted", func() bool { return m.Counts().Ended["crowded"] == 1 })
	m.agent(withKey, nil).wantState(t, Accepted)
	m.agent(registered, nil).wantState(t, Accepted)
}

func TestSilentStrangersLockOutNoRegisteredDevice(t *testing.T) {
	t.Parallel()
	m, registered := startManager(t, accept), certificateOf(t)
	m.quotas.arriving.mostOfOne = 3
	m.know(idOf(registered))
	for range 3 {
		m.dial(certificateOf(t))
	}
	m.until("they are there", func() bool { return m.arriving() == 3 })
	m.agent(certificateOf(t), nil).wantEnd(t)
	m.agent(registered, nil).wantState(t, Accepted)
	m.until("counted", func() bool { return m.Counts().Ended["crowded"] == 1 })
}

// A stranger had ten seconds to introduce itself, and its place for as long as it answered pings.
func TestASilentStrangerKeepsItsPlaceForAMoment(t *testing.T) {
	t.Parallel()
	m := startManager(t, accept)
	m.o.Limits.Hello = 50 * time.Millisecond
	m.know(fleet.DeviceID("")) // the connections' goroutines read the limit after this
	m.dial(certificateOf(t))
	m.until("ended", func() bool { return m.Counts().Ended["protocol"] == 1 })
	if n := m.arriving(); n != 0 {
		t.Errorf("%d places are taken still", n)
	}
}

// A registered device needs no place among strangers, and must not take those of other devices.
func TestARegisteredDeviceHasFewConnectionsThatAreNotAdmitted(t *testing.T) {
	t.Parallel()
	m, registered := startManager(t, accept), certificateOf(t)
	m.know(idOf(registered))
	for range returningPerDevice + 1 {
		m.dial(registered)
	}
	m.until("refused", func() bool { return m.Counts().Ended["crowded"] == 1 })
}

// The listener learnt that a device is registered after its agent was admitted: until then the agents of one site
// counted as attempts of one address.
func TestTheListenerLearnsAtOnceThatADeviceIsRegistered(t *testing.T) {
	t.Parallel()
	m, registered := startManager(t, accept), certificateOf(t)
	m.know(idOf(registered))
	m.dial(registered) // it says nothing
	m.until("told", func() bool { return m.told.Load() == 1 })
	m.dial(certificateOf(t))
	m.until("a stranger has arrived", func() bool { return m.arriving() == 1 })
	if n := m.told.Load(); n != 1 {
		t.Errorf("%d devices are registered, want 1", n)
	}
}

func TestStrangersHaveAnEighthOfThePlacesOfDaemons(t *testing.T) {
	for _, test := range []struct{ most, want int }{{0, 1}, {40, 20}, {5000, 256}} {
		if l := LimitsWithin(test.most); l.Arriving != test.want || l.Waiting != test.want {
			t.Errorf("of %d: got %+v", test.most, l)
		}
	}
}

func (m *manager) know(id fleet.DeviceID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = id
}

func (m *manager) arriving() int {
	c := m.quotas.arriving
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
