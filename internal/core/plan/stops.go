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

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	contendedAfter  = 3         // changes of a managed key by a person, after which the key is stopped
	contendedWithin = time.Hour // the time within which they are counted; also for values of Muster's that alternate
	maxTracked      = 1000      // keys of one device for which such counts are kept
	unmovedAfter    = 2         // writes that a daemon accepted without showing the value, after which the key is stopped

	unsavedKey  = "unsaved configuration" // not a key of the configuration, so it keeps nothing from being written
	failedAfter = 5                       // equal answers in a row, after which the daemon counts as unable to save
)

// Stops has the keys of one device that must not be written now, and the counts that lead to a stop: how often a
// person changed a key back, what was sent, what the daemon answered. Some stops are only reported and stop no key. A
// Stops is safe for concurrent use.
type Stops struct {
	mu sync.Mutex // guards the rest

	now    map[string]fleet.Stop  // all stops, by key
	stored map[string]fleet.Stop  // the stops that the store has, by key
	drifts map[string][]time.Time // times at which a person changed a key back
	// drifted has, by key, the digest of the document in which a drift of the key was counted. The entry is removed once
	// the drift is corrected.
	drifted map[string]string
	sent    map[string][]sentValue // the last two values sent at a key, newest last
	unmoved map[string]int         // how often a write at a key had no effect
	wrote   map[string]time.Time   // folders that were written to, with the time
}

// sentValue is a value that was sent, and when.
type sentValue struct {
	digest string
	at     time.Time
}

// NewStops makes an empty set.
func NewStops() *Stops {
	return &Stops{
		now: map[string]fleet.Stop{}, stored: map[string]fleet.Stop{}, drifts: map[string][]time.Time{},
		drifted: map[string]string{}, sent: map[string][]sentValue{}, unmoved: map[string]int{},
		wrote: map[string]time.Time{},
	}
}

// Load adds the stops that the store has.
func (s *Stops) Load(kept []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range kept {
		s.now[stop.Key], s.stored[stop.Key] = stop, stop
	}
}

// Unstored returns all stops, ordered by key. changed reports whether the store has others. templates are the device's
// present templates; a stop without a digest of them gets one. After storing the stops, the caller calls MarkStored.
func (s *Stops) Unstored(templates []fleet.Template) (stops []fleet.Stop, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, stop := range s.now {
		if stop.Templates == "" {
			stop.Templates = templatesDigest(templates, stop.Key)
			s.now[key] = stop
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.now)) {
		stops = append(stops, s.now[key])
	}
	return stops, !maps.Equal(s.now, s.stored)
}

// MarkStored notes that the store has these stops.
func (s *Stops) MarkStored(stops []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stored)
	for _, stop := range stops {
		s.stored[stop.Key] = stop
	}
}

// templatesDigest returns a digest of those templates that may change a key. It is the same after a restart of the
// server.
func templatesDigest(templates []fleet.Template, key string) string {
	h := sha256.New()
	for _, t := range templates {
		if !mayChange(t, key) {
			continue
		}
		fmt.Fprintf(h, "%d %d %q %q %q\n", t.ID, t.Priority, t.Op, t.Key, t.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mayChange reports whether a template may affect the value at a key: one of the two keys is at or below the other.
// All folders and devices affect one another, because a share adds its device and a removed device takes its shares.
func mayChange(t fleet.Template, key string) bool {
	asked, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return true
	}
	stopped, err := stconfig.ParseKey(key)
	if err != nil || asked.IsRoot() || stopped.IsRoot() {
		return true
	}
	member := func(k stconfig.Key) bool { return k.At(0).Name == "folders" || k.At(0).Name == "devices" }
	if member(asked) && member(stopped) && asked.At(0) != stopped.At(0) {
		return true
	}
	for i := range min(asked.Len(), stopped.Len()) {
		if a, b := asked.At(i), stopped.At(i); a != b && !a.Every && !b.Every {
			return false
		}
	}
	return true
}

// stop stops a key. The caller holds mu.
func (s *Stops) stop(stop fleet.Stop) { s.now[stop.Key] = stop }

// Now returns all stops by key. It serves as Input.Stopped.
func (s *Stops) Now() map[string]fleet.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.now)
}

// Of returns the stops that keep changes of this plan from being written.
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

// Clear forgets the stops of keys, and the counts that lead to them, because a person applies the plan.
func (s *Stops) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.now, func(_ string, stop fleet.Stop) bool { return stop.Kind.StopsKey() })
	clear(s.drifts)
	clear(s.sent)
	clear(s.unmoved)
}

// Inputs says from what a device's plan is made, and what of this changed since the pass before.
type Inputs struct {
	Templates      []fleet.Template
	Observed       string // digest of the document
	Now            time.Time
	TemplatesMoved bool // The device's templates or their texts changed.
	RevokedMoved   bool // A device was revoked, or a revocation ended.
	Moved          bool // Anything but the document changed.
}

// Release forgets stops that no longer hold. A stop because of a daemon's answer ends if somebody else changed the
// document. A stop because of alternating values ends if any input of the templates changed. Every stop of a key ends
// if the templates that may change the key changed.
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
	for key, stop := range s.now {
		if is.end(stop) {
			delete(s.now, key)
			delete(s.unmoved, key)
		}
	}
}

// After returns, by key, the stops that Release would keep. It forgets none.
func (s *Stops) After(is Inputs) map[string]fleet.Stop {
	left := s.Now()
	maps.DeleteFunc(left, func(_ string, stop fleet.Stop) bool { return is.end(stop) })
	return left
}

// end reports whether a stop no longer holds with these inputs.
func (is Inputs) end(stop fleet.Stop) bool {
	over := stop.Templates != "" && stop.Templates != templatesDigest(is.Templates, stop.Key) && stop.Kind.StopsKey()
	switch stop.Kind {
	case fleet.StopRejected, fleet.StopUnmoved:
		return over || stop.Observed != is.Observed
	case fleet.StopUnstable:
		return over || is.Moved
	case fleet.StopBroughtBack:
		return is.TemplatesMoved || is.RevokedMoved || is.Now.Sub(stop.Since) >= contendedWithin
	}
	return over
}

// A revoked device that comes back is removed every time, however often: nobody at the daemon may win by repeating.
// Its return is reported until an hour has passed without another. After the third return within an hour the daemon's
// own device gets the state failed.

const backMark = "return of " // stands before the device's key, so that the key itself is not stopped

// broughtBack returns the stop that reports the return of a revoked device, which change c removes. times is how often
// the device came back within an hour.
func (c *Change) broughtBack(times int, now time.Time) fleet.Stop {
	how := "brought it back: Muster takes it off"
	if times >= contendedAfter {
		how = "brings it back again and again: Muster takes it off each time"
	}
	return fleet.Stop{Key: backMark + c.Key.String(), Kind: fleet.StopBroughtBack, Since: now,
		Answers: min(times, contendedAfter),
		Reason:  fmt.Sprintf("%s is revoked, and %s %s", c.Key.At(1).Name, c.bringer(), how)}
}

// IsBroughtBackOften reports whether the stop is about a device that came back again and again.
func IsBroughtBackOften(stop fleet.Stop) bool {
	return stop.Kind == fleet.StopBroughtBack && stop.Answers >= contendedAfter
}

// BroughtBack returns the stops about revoked devices that came back.
func (s *Stops) BroughtBack() (all []fleet.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.now {
		if stop.Kind == fleet.StopBroughtBack {
			all = append(all, stop)
		}
	}
	slices.SortFunc(all, func(a, b fleet.Stop) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// BroughtBackUntil returns when the first of the stops of BroughtBack ends; the zero time without such a stop.
func (s *Stops) BroughtBackUntil() (until time.Time) {
	for _, stop := range s.BroughtBack() {
		if end := stop.Since.Add(contendedWithin); until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until
}

// CountSent records the values that are about to be sent, and stops a key if its values alternate. unstable reports
// whether it stopped any.
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

// CountUnmoved compares sent, the plan that was sent, with left, the plan made from the read-back. It stops a key if
// the daemon accepted writes of it twice and still shows another value. acknowledged are the keys of the writes that
// the daemon answered with success.
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
		if !took(c.Key) || ok && !was.Sending().Equal(c.Sending()) || stconfig.IsNotices(c.Key) && sent.changesLogIn() ||
			c.revoked {
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

// changesLogIn reports whether the plan sets the user or password of the daemon. The daemon then changes its notices.
func (p Plan) changesLogIn() bool {
	return slices.ContainsFunc(p.Sendable(), func(c Change) bool {
		return isKey(c.Key, "gui", "user") || isKey(c.Key, "gui", "password")
	})
}

// A daemon with a full disk answers a write with 500. It shows the new value and, after a restart, the old one again.
// So after a 5xx answer a write counts as not done, until the daemon answers a later write of its configuration with
// 2xx: by then it has saved everything. The stop under unsavedKey counts equal answers in a row.

// Answered records how the daemon answered a write of its configuration or of ignore patterns; err is nil for success.
// changed reports whether the stop for unsaved changes is a different one now.
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

// isSameAnswer reports whether two answers are equal apart from their digits, in which the names of temporary files
// differ.
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

// Unsaved returns the stop with the daemon's 5xx answer, while the daemon may not have saved what was sent; nil
// otherwise. cannotSave is true after several equal answers in a row.
func (s *Stops) Unsaved() (answer *fleet.Stop, cannotSave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop, ok := s.now[unsavedKey]; ok {
		return &stop, stop.Answers >= failedAfter
	}
	return nil, false
}

// A daemon answers 200 to ignore patterns that it cannot read and to a path that it cannot make, and stops the folder
// a moment later. If that follows a write of Muster's, the device is failed until the folder runs again. The stop that
// says so is stored, but does not keep any key from being written: a write is what repairs the folder.

// blamedFor is the time after a write during which an error of the folder is blamed on the write.
const blamedFor = 2 * time.Minute

const faultMark = "error of " // stands before the folder's key, so that the key itself is not stopped

func faultOf(folder string) string {
	return faultMark + stconfig.Key{}.Child("folders").Child(folder).String()
}

// faultyFolder returns the folder that a stop about a folder's error names.
func faultyFolder(fault fleet.Stop) string {
	key, err := stconfig.ParseKey(strings.TrimPrefix(fault.Key, faultMark))
	if err != nil || key.Len() < 2 {
		return ""
	}
	return key.At(1).Name
}

// writtenFolder returns the folder that a change at a key writes to, or "".
func writtenFolder(key stconfig.Key) string {
	if key.Len() < 2 || key.At(0).Name != "folders" && key.At(0).Name != "ignores" {
		return ""
	}
	return key.At(1).Name
}

// WatchesFolders reports whether folders that Muster wrote to are being watched for errors.
func (s *Stops) WatchesFolders() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wrote) > 0 || len(s.faults()) > 0
}

// faults returns the stops about folders in error. The caller holds mu.
func (s *Stops) faults() []fleet.Stop {
	var faults []fleet.Stop
	for _, stop := range s.now {
		if stop.Kind == fleet.StopFolder {
			faults = append(faults, stop)
		}
	}
	slices.SortFunc(faults, func(a, b fleet.Stop) int { return strings.Compare(a.Key, b.Key) })
	return faults
}

// WritesFolders records the folders that are about to be written to and for which mayBreak is true. It is false for a
// folder that is in error already, or that was not read before the write: the write is not to blame for such an error.
func (s *Stops) WritesFolders(keys []stconfig.Key, mayBreak func(folder string) bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if folder := writtenFolder(key); folder != "" && mayBreak(folder) {
			s.wrote[folder] = now
		}
	}
}

// FolderErrors returns the errors of those folders that Muster wrote to or has a stop for, as one text to compare.
// inError has the errors by folder.
func (s *Stops) FolderErrors(inError map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(inError)) {
		if _, wrote := s.wrote[folder]; wrote || s.now[faultOf(folder)].Key != "" {
			fmt.Fprintf(&text, "%q %q\n", folder, inError[folder])
		}
	}
	return text.String()
}

// JudgeFolders makes stops for the folders in inError (error texts by folder) that were written to shortly before, and
// ends the stops of folders that run again. runs reports whether a folder was without error at some time after since,
// or is gone.
func (s *Stops) JudgeFolders(inError map[string]string, runs func(folder string, since time.Time) bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.wrote, func(_ string, at time.Time) bool { return now.Sub(at) > blamedFor })
	for folder, reason := range inError {
		key := faultOf(folder)
		fault, known := s.now[key]
		if _, wrote := s.wrote[folder]; !wrote && !known {
			continue
		}
		fault.Key, fault.Kind = key, fleet.StopFolder
		fault.Reason = fmt.Sprintf("folder %q is in error since Muster changed it: %s", folder, reason)
		if fault.Since.IsZero() {
			fault.Since = now
		}
		s.stop(fault)
	}
	for _, fault := range s.faults() {
		if folder := faultyFolder(fault); inError[folder] == "" && runs(folder, fault.Since) {
			delete(s.now, fault.Key)
		}
	}
}

// Unmended returns the stops about folders in error, without folders that the plan changes: a change may repair its
// folder.
func (s *Stops) Unmended(p Plan) []fleet.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	mended := map[string]bool{}
	for _, c := range p.Changes {
		if folder := writtenFolder(c.Key); folder != "" && c.Class != Skipped {
			mended[faultOf(folder)] = true
		}
	}
	return slices.DeleteFunc(s.faults(), func(stop fleet.Stop) bool { return mended[stop.Key] })
}
