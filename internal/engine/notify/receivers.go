package notify

import (
	"reflect"
	"time"

	"muster/internal/adapter/outbound"
)

// receivers say who is told, and when.
type receivers struct {
	settings     Settings
	senders      []Sender
	after, every time.Duration
	unsure       bool // see Settings.Unsure
}

// SetReceivers replaces whom Run tells, and when. Messages that wait for a receiver that stays are sent on. Messages
// for others are dropped, unless the settings are unsure.
func (n *Notifier) SetReceivers(s Settings, refuse outbound.RefuseIP) error {
	n.mu.Lock()
	n.rules = rules{routes: s.Routes, silences: s.Silences, public: s.Public} // They delay no message.
	s.Routes, s.Silences = nil, nil
	same := reflect.DeepEqual(n.next.settings, s)
	n.mu.Unlock()
	if same {
		return nil
	}
	senders, err := s.Senders(refuse)
	if err != nil {
		return err
	}
	after, every := s.Times()
	n.mu.Lock()
	n.next = receivers{settings: s, senders: senders, after: after, every: every, unsure: s.Unsure}
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default: // Run has not yet adopted an earlier change, and adopts both.
	}
	return nil
}

// adoptNext makes the next receivers those that a round tells.
func (n *Notifier) adoptNext() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = n.next
	n.deliveries = nil
	for _, s := range n.now.senders {
		n.deliveries = append(n.deliveries, newDelivery(s, n.o.Store, n.log))
	}
	n.full = false
	if len(n.deliveries) == 0 {
		n.problems = map[Key]*tracked{} // Nobody watches them. A later round reads what was announced.
	}
}
