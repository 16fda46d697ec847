package notify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// life is one run of the notifier that ends when its fuse has burnt down: at some point before or after some operation
// on the disk, or right after the receiver took a message.
type life struct {
	ctx  context.Context
	kill context.CancelFunc
	fuse int
}

func newLife(fuse int) *life {
	ctx, cancel := context.WithCancel(context.Background())
	return &life{ctx, cancel, fuse}
}

var errKilled = errors.New("killed")

// burn is called at every such point, never by two at once; after the kill nothing has an effect any more.
func (l *life) burn() error {
	if l.fuse--; l.fuse == 0 {
		l.kill()
	}
	if l.ctx.Err() != nil {
		return errKilled
	}
	return nil
}

// Muster is killed again and again while problems come and go and the receiver is up, down or in trouble. Every
// message arrives, in order per device, and duplicates carry the same ID; the same problem is never told twice.
func TestKillsLoseNothing(t *testing.T) {
	rounds := 150
	if os.Getenv("MUSTER_SOAK") != "" {
		rounds = 5000
	}
	duplicates := 0
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			s, d, r := newSource(), newDisk(), newReceiver("r")
			problems := newFleetOfProblems(s, random)
			for range 12 {
				runLife(t, newLife(1+random.IntN(60)), s, d, r, random, problems)
			}
			r.set(nil)
			problems.endAll()
			survivor := newLife(0)
			runLife(t, survivor, s, d, r, nil, problems)
			checkDelivery(t, d.announced(), r.messages(), 1)
			checkPairs(t, d.announced())
			duplicates += len(r.messages()) - len(d.announced())
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
	if duplicates == 0 {
		t.Error("no message ever came twice: the kills between sending and striking out were not met")
	}
}

// runLife runs a notifier until it is killed, or a few hours have passed.
func runLife(t *testing.T, l *life, s *source, d *disk, r *receiver, random *rand.Rand, problems *fleetOfProblems) {
	t.Helper()
	gate := make(chan struct{}, 1) // one at a time: a kill stops all others
	burn := func(string) error {
		gate <- struct{}{}
		defer func() { <-gate }()
		return l.burn()
	}
	d.before, d.after = burn, burn
	r.mu.Lock()
	r.taken = func(Message) { _ = burn("taken") }
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = New(Options{Source: s, Store: d, Senders: []Sender{r}, After: 2 * time.Minute}).Run(l.ctx)
	}()
	for range 40 {
		if random != nil {
			problems.change()
			r.set([]error{nil, nil, nil, errors.New("down"), &LaterError{time.Minute, errors.New("busy")}}[random.IntN(5)])
		}
		select {
		case <-ended:
			return
		case <-time.After(5 * time.Minute):
		}
	}
	l.kill()
	<-ended
}

// fleetOfProblems begins and ends problems at random.
type fleetOfProblems struct {
	s      *source
	random *rand.Rand
	keys   []Key
	on     map[Key]bool
}

func newFleetOfProblems(s *source, random *rand.Rand) *fleetOfProblems {
	f := &fleetOfProblems{s: s, random: random, on: map[Key]bool{}}
	for i := range 4 {
		id := deviceID(fmt.Sprint(i))
		f.keys = append(f.keys, Key{Device: id, Kind: fleet.WaitUnreachable}, Key{Device: id, Kind: fleet.WaitFailed},
			Key{Device: id, Folder: "photos", Kind: fleet.WaitOutOfSync})
	}
	return f
}

func (f *fleetOfProblems) change() {
	for range f.random.IntN(4) {
		k := f.keys[f.random.IntN(len(f.keys))]
		if f.on[k] = !f.on[k]; f.on[k] {
			f.s.begin(k)
		} else {
			f.s.end(k)
		}
	}
}

func (f *fleetOfProblems) endAll() {
	for k := range f.on {
		f.s.end(k)
		delete(f.on, k)
	}
}

// checkPairs: about each problem, opening and closing take turns, and each closing names its opening.
func checkPairs(t *testing.T, announced []Message) {
	t.Helper()
	open := map[Key]string{}
	for _, m := range announced {
		k := Key{Device: m.DeviceID, Folder: m.Folder, Kind: m.Kind}
		switch {
		case m.Type == fleet.NoticeProblem && open[k] == "" && m.ProblemID == m.ID:
			open[k] = m.ID
		case m.Type == fleet.NoticeResolved && open[k] != "" && m.ProblemID == open[k]:
			delete(open, k)
		default:
			t.Errorf("%s of %v out of turn: of %q, while %q is open", m.Type, k, m.ProblemID, open[k])
		}
	}
	if len(open) != 0 {
		t.Errorf("%d problems ended and were never resolved", len(open))
	}
}

// The store takes the change, and the answer is lost.
func TestWhatIsDurableIsSentWhateverTheStoreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		lost := false
		d.after = func(op string) error {
			if op == "announce" && !lost {
				lost = true
				return errors.New("the connection broke at the COMMIT")
			}
			return nil
		}
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitUnreachable})
		pass(30 * time.Minute)
		if got := n.Receivers()[0]; len(r.messages()) != 1 || got != (fleet.Receiver{Name: "r"}) {
			t.Errorf("got %v, afterwards %+v", summary(r.messages()), got)
		}
	})
}

// The store fails, before or after it has taken the change: the answer is lost. Nothing is told twice for it.
func TestAStoreThatFailsMakesNoMessageTwice(t *testing.T) {
	for seed := range 50 {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(seed), 11))
			s, d, r := newSource(), newDisk(), newReceiver("r")
			gate := make(chan struct{}, 1)
			flaky := true
			fail := func(op string) error {
				gate <- struct{}{}
				defer func() { <-gate }()
				if flaky && random.IntN(3) == 0 {
					return fmt.Errorf("%s: connection reset", op)
				}
				return nil
			}
			d.before, d.after = fail, fail
			n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}, After: 2 * time.Minute})
			problems := newFleetOfProblems(s, random)
			for range 60 {
				gate <- struct{}{}
				problems.change()
				<-gate
				pass(3 * time.Minute)
			}
			gate <- struct{}{}
			flaky = false
			problems.endAll()
			<-gate
			pass(2 * time.Hour)
			checkDelivery(t, d.announced(), r.messages(), 10)
			checkPairs(t, d.announced())
			if got := n.Receivers()[0]; got != (fleet.Receiver{Name: "r"}) {
				t.Errorf("afterwards: %+v", got)
			}
			for _, wrong := range r.wrong {
				t.Error(wrong)
			}
		})
	}
}
