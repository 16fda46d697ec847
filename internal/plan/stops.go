package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

const (
	contendedAfter  = 3         // times that a person set a managed key back
	contendedWithin = time.Hour // also for values of our own that alternate
	maxTracked      = 1000      // keys of a device that are watched for these
	unmovedAfter    = 2         // times that a daemon took a write and showed another value

	unsavedKey  = "unsaved configuration" // no key of a configuration: nothing is kept from being written
	failedAfter = 5                       // equal answers
)

// Stops are the keys of one device that are not to be written now, and what leads there: how often a person set a key
// back, what was sent, what the daemon answered. Several goroutines may use them at once.
type Stops struct {
	mu sync.Mutex // guards the rest

	now     map[string]fleet.Stop  // by key
	kept    map[string]fleet.Stop  // those that the store has
	drifts  map[string][]time.Time // when a person set a key back
	drifted map[string]string      // digest of the document in which a key's drift was counted, until it is corrected
	sent    map[string][]sentValue // the last two values sent at a key, newest last
	unmoved map[string]int         // how often a write at a key had no effect
	wrote   map[string]time.Time   // folders that were written to a moment ago
}

// sentValue is a value that was sent.
type sentValue struct {
	digest string
	at     time.Time
}

// NewStops are none.
func NewStops() *Stops {
	return &Stops{
		now: map[string]fleet.Stop{}, kept: map[string]fleet.Stop{}, drifts: map[string][]time.Time{},
		drifted: map[string]string{}, sent: map[string][]sentValue{}, unmoved: map[string]int{},
		wrote: map[string]time.Time{},
	}
}

// Load takes over what the store has.
func (s *Stops) Load(kept []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range kept {
		s.now[stop.Key], s.kept[stop.Key] = stop, stop
	}
}

// Unkept are the stops, by key, with the templates that they are about, and whether the store has others. Kept says
// that it has these.
func (s *Stops) Unkept(templates []fleet.Template) (stops []fleet.Stop, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, stop := range s.now {
		if stop.Templates == "" {
			stop.Templates = templatesDigest(templates)
			s.now[key] = stop
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.now)) {
		stops = append(stops, s.now[key])
	}
	return stops, !maps.Equal(s.now, s.kept)
}

// Kept says that the store has these stops.
func (s *Stops) Kept(stops []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.kept)
	for _, stop := range stops {
		s.kept[stop.Key] = stop
	}
}

// templatesDigest tells the templates of a device from others, also those of another process.
func templatesDigest(templates []fleet.Template) string {
	h := sha256.New()
	for _, t := range templates {
		fmt.Fprintf(h, "%d %d %q %q %q\n", t.ID, t.Priority, t.Op, t.Key, t.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// stop stops a key. The caller holds mu.
func (s *Stops) stop(stop fleet.Stop) { s.now[stop.Key] = stop }

// Reason is why a key is not to be written now, for Input.Stopped; "" when it may be.
func (s *Stops) Reason(key stconfig.Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now[key.String()].Reason
}

// Of are the stops of the keys in a plan that are not written now.
func (s *Stops) Of(p Plan) (stopped []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p.Changes {
		if stop, ok := s.now[c.Key.String()]; ok && c.Stopped && !c.Sendable() {
			stopped = append(stopped, stop)
		}
	}
	return stopped
}

// Clear forgets what stopped keys: a person applies the plan.
func (s *Stops) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.now, func(_ string, stop fleet.Stop) bool { return stop.Kind.StopsKey() })
	clear(s.drifts)
	clear(s.sent)
	clear(s.unmoved)
}

// Inputs are what a device is planned from, compared with the pass before.
type Inputs struct {
	Templates      []fleet.Template
	Observed       string // digest of the document
	TemplatesMoved bool   // other templates apply, or other texts of them
	Moved          bool   // anything but the document changed
}

// Release forgets the stops that no longer hold: the daemon's answers when its document changed by another hand, what
// alternated when anything that templates read changed, all of them when the templates changed.
func (s *Stops) Release(is Inputs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is.Moved {
		clear(s.sent)
		clear(s.unmoved)
	}
	if is.TemplatesMoved {
		clear(s.drifts)
	}
	if len(s.now) == 0 {
		return
	}
	templates := templatesDigest(is.Templates)
	for key, stop := range s.now {
		over := stop.Templates != "" && stop.Templates != templates && stop.Kind.StopsKey()
		switch stop.Kind {
		case fleet.StopRejected, fleet.StopUnmoved:
			over = over || stop.Observed != is.Observed
		case fleet.StopUnstable:
			over = over || is.Moved
		}
		if over {
			delete(s.now, key)
			delete(s.unmoved, key)
		}
	}
}

// CountDrift notes that a person set these keys back in a document, once per document, and stops what is contended.
func (s *Stops) CountDrift(changes []Change, observed string, now time.Time) (contended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		key := c.Key.String()
		if !c.Drift || s.drifted[key] == observed || s.drifted[key] == "" && len(s.drifted) >= maxTracked {
			continue
		}
		s.drifted[key] = observed
		recent := slices.DeleteFunc(s.drifts[key], func(t time.Time) bool { return now.Sub(t) >= contendedWithin })
		s.drifts[key] = append(recent, now)
		if len(s.drifts[key]) >= contendedAfter {
			reason := "a person at the daemon set it back three times within an hour"
			if by := c.Introducer(); by != "" {
				reason = "the introducer " + by + " added it again three times within an hour, and templates have revoked it"
			}
			s.stop(fleet.Stop{Key: key, Kind: fleet.StopContended, Since: now, Reason: reason})
			contended = true
		}
	}
	return contended
}

// CountSent notes the values that are about to be sent, and stops what alternates.
func (s *Stops) CountSent(changes []Change, now time.Time) (unstable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		key, value := c.Key.String(), ValueDigest(c.Sending())
		if s.sent[key] == nil && len(s.sent) >= maxTracked {
			continue
		}
		last := slices.DeleteFunc(s.sent[key], func(v sentValue) bool { return now.Sub(v.at) >= contendedWithin })
		if n := len(last); n >= 2 && last[n-2].digest == value && last[n-1].digest != value {
			s.stop(fleet.Stop{Key: key, Kind: fleet.StopUnstable, Since: now,
				Reason: "what the templates ask for here changes back and forth by itself"})
			unstable = true
			continue
		}
		if n := len(last); n == 0 || last[n-1].digest != value {
			last = append(last, sentValue{value, now})
		}
		s.sent[key] = last[max(0, len(last)-2):]
	}
	return unstable
}

// Rejected stops the keys of a write that the daemon refused.
func (s *Stops) Rejected(keys []stconfig.Key, reason, observed string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.stop(fleet.Stop{Key: key.String(), Kind: fleet.StopRejected, Reason: "the daemon refused it: " + reason,
			Observed: observed, Since: now})
	}
}

// CountUnmoved notes the keys that are corrected, and those that the daemon took and still shows otherwise, by the plan
// that was sent and the one made from what was read back. It stops those for which it is of no use to write them again.
func (s *Stops) CountUnmoved(sent, left Plan, acknowledged []stconfig.Key, now time.Time) (stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := func(key stconfig.Key) bool {
		return slices.ContainsFunc(acknowledged, func(k stconfig.Key) bool { return k.HasPrefix(key) || key.HasPrefix(k) })
	}
	for _, c := range sent.Sendable() {
		if _, again := left.At(c.Key.String()); !again || took(c.Key) {
			delete(s.drifted, c.Key.String())
		}
	}
	for _, c := range left.Sendable() {
		key := c.Key.String()
		was, ok := sent.At(key)
		if !took(c.Key) || ok && !was.Sending().Equal(c.Sending()) {
			continue
		}
		s.unmoved[key]++
		if s.unmoved[key] >= unmovedAfter {
			s.stop(fleet.Stop{Key: key, Kind: fleet.StopUnmoved, Reason: "the daemon takes it and then shows another value",
				Observed: left.Observed, Since: now})
			stopped = true
		}
	}
	return stopped
}

// A daemon whose disk is full answers a write with 500, has the new value in memory, and the old one again after its
// next start. So a write that was answered with 5xx counts as not done, whatever the daemon shows, until it answers a
// write of its configuration with 2xx: then it has saved all of it. The stop that says so has the number of equal
// answers.

// Answered notes how the daemon answered a write of its configuration, or that it could not save ignore patterns.
func (s *Stops) Answered(err error, now time.Time) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, unsaved := s.now[unsavedKey]
	switch {
	case err == nil:
		delete(s.now, unsavedKey)
		return unsaved
	case !errors.Is(err, fleet.ErrNotSaved):
		return false
	}
	is := fleet.Stop{Key: unsavedKey, Kind: fleet.StopUnsaved, Reason: fleet.Reason(err), Since: now, Answers: 1}
	if unsaved && isSameAnswer(was.Reason, is.Reason) {
		is = was
		is.Answers = min(was.Answers+1, failedAfter)
	}
	s.stop(is)
	return is != was
}

// isSameAnswer compares the texts of two answers without their digits: the names of temporary files differ in these.
func isSameAnswer(a, b string) bool {
	withoutDigits := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, text)
	}
	return withoutDigits(a) == withoutDigits(b)
}

// Unsaved is the answer after which it is not known what the daemon has on its disk, and whether it is the last of so
// many equal ones that the daemon counts as unable to save; nil when there is none.
func (s *Stops) Unsaved() (answer *fleet.Stop, cannotSave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop, ok := s.now[unsavedKey]; ok {
		return &stop, stop.Answers >= failedAfter
	}
	return nil, false
}
