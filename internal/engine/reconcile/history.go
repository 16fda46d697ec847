package reconcile

import (
	"sync"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// history is what the engine remembers of a device between two passes. It is lost when the process ends, except for
// the stops and the consents, which are also in the store.
type history struct {
	stops   *plan.Stops
	answers *plan.Answers

	// Only the worker that has the device writes restart and unfinished. Before any workers run, Run writes them.
	restart    restarting
	unfinished []fleet.Intent // intents that a crash or a lost connection left open

	mu sync.Mutex // guards the rest

	print     fingerprint // fingerprint of the inputs of the last plan
	observed  string      // digest of the document that the last plan was made from; "": plan again
	forgotten int         // how often forgetInputs was called
	letGo     int64       // see planned.letGo of the last plan
	version   [3]string   // operating system, architecture and version of the daemon when Online was last called

	readAt time.Time // when this engine last read the daemon
	read   string    // digest of the document that it read then

	ignores      map[string][]string // the ignore patterns by folder, as last read
	ignoresUntil time.Time           // when ignores are read again
	ignoresLack  bool                // The patterns of some folders could not be read.
	ignoresAt    time.Time           // when ignores were read
	ignoresMark  time.Time           // when a folder with ignores last changed its state, by the daemon's clock

	revoked map[fleet.DeviceID][]int64 // desired.Result.RevokedByTemplates of the last plan

	pass fleet.Pass // result of the last finished pass; do not change its slices
}

func newHistory() history { return history{stops: plan.NewStops(), answers: plan.NewAnswers()} }

// forgetInputs makes the next pass plan, even if no input has changed.
func (h *history) forgetInputs() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.observed = ""
	h.forgotten++
}

func (h *history) timesForgotten() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.forgotten
}

// versionChanged reports whether the daemon's version differs from the one in the last call.
func (h *history) versionChanged(v fleet.Version) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	is := [3]string{v.OS, v.Arch, v.Version}
	changed := is != h.version
	h.version = is
	return changed
}

// neverPlanned reports whether this process has not planned the device yet.
func (h *history) neverPlanned() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.print == fingerprint{}
}

// isDone reports whether the device needs no work: document and inputs are those of the last pass, which left nothing
// to do, and nothing else is due. generation is the one to which the device is admitted now. It matters only if the
// last plan depended on who took templates away from the device, because the answer may differ between generations.
func (h *history) isDone(digest string, print fingerprint, generation int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isDoneBut(digest, print, generation) && !h.areIgnoresDue()
}

// isDoneBut is isDone without the check of the ignore patterns' age. The caller holds mu.
func (h *history) isDoneBut(digest string, print fingerprint, generation int64) bool {
	return (h.letGo == 0 || h.letGo == generation) && h.observed == digest && h.print == print &&
		!h.restart.required && !h.isUnsaved() && !h.isBroughtBackOver()
}

// isBroughtBackOver reports whether the time is over for which the return of a revoked device is reported. A pass then
// ends that stop.
func (h *history) isBroughtBackOver() bool {
	until := h.stops.BroughtBackUntil()
	return !until.IsZero() && !time.Now().Before(until)
}

// areIgnoresDue reports whether the ignore patterns have to be read again. The caller holds mu.
func (h *history) areIgnoresDue() bool { return h.ignores != nil && !time.Now().Before(h.ignoresUntil) }

// ignoresToCompare returns the ignore patterns of the last pass if nothing is due but to read them again. It returns
// nil otherwise, and also if some of them could not be read in the last pass.
func (h *history) ignoresToCompare(digest string, print fingerprint, generation int64) map[string][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ignoresLack || !h.areIgnoresDue() || !h.isDoneBut(digest, print, generation) {
		return nil
	}
	return h.ignores
}

// isUnsaved reports whether the daemon may not have saved what was sent to it.
func (h *history) isUnsaved() bool {
	answer, _ := h.stops.Unsaved()
	return answer != nil
}

// done records that nothing is left to do for a document and its inputs. forgotten is what timesForgotten returned
// when the pass began: if forgetInputs was called since, the next pass still plans. letGo is planned.letGo of the
// plan.
func (h *history) done(digest string, print fingerprint, forgotten int, letGo int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.letGo = letGo
	if h.print = print; h.forgotten == forgotten {
		h.observed = digest
	}
}

// release is called when a pass starts to plan. It forgets the result of the last pass, and ends stops whose inputs
// have changed.
func (h *history) release(in input, print fingerprint) {
	h.mu.Lock()
	known := h.print != fingerprint{}
	is := plan.Inputs{
		Templates:      in.templates,
		Observed:       in.digest,
		Now:            time.Now(),
		Moved:          known && print.inputs != h.print.inputs,
		TemplatesMoved: known && print.templates != h.print.templates,
		RevokedMoved:   known && print.revoked != h.print.revoked,
	}
	h.observed, h.print = "", print
	h.mu.Unlock()
	h.stops.Release(is)
}

// wasRead records when this engine read a document from the daemon, and the document's digest.
func (h *history) wasRead(at time.Time, digest string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readAt, h.read = at, digest
}

// lastRead returns the digest of the document that this engine read last.
func (h *history) lastRead() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.read
}

// overtakes reports whether this engine has read a newer configuration than kept, which is the one in the store.
func (h *history) overtakes(kept fleet.ObservedConfig) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return kept.SeenAt.Before(h.readAt) && kept.Digest != h.read
}

// putIgnores stores ignore patterns by folder. until is when they are to be read again. lack reports whether the
// patterns of some folders could not be read.
func (h *history) putIgnores(patterns map[string][]string, until time.Time, lack bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ignores, h.ignoresUntil, h.ignoresLack, h.ignoresAt = patterns, until, lack, time.Now()
}

// hintIgnores has the ignore patterns read earlier when one of their folders changed its state since the last call.
// wait is the time until then, and at least ignoresPause after the last reading. hinted is false when nothing is read
// earlier. changed is called only when there are patterns; its function gives when a folder changed its state.
func (h *history) hintIgnores(changed func() func(folder string) time.Time, now time.Time) (wait time.Duration,
	hinted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ignores) == 0 {
		return 0, false
	}
	changedAt, mark := changed(), h.ignoresMark
	if changedAt == nil {
		return 0, false
	}
	for folder := range h.ignores {
		if at := changedAt(folder); at.After(mark) {
			mark = at
		}
	}
	due := h.ignoresAt.Add(ignoresPause)
	if due.Before(now) {
		due = now
	}
	if mark.Equal(h.ignoresMark) || !due.Before(h.ignoresUntil) {
		return 0, false
	}
	h.ignoresMark, h.ignoresUntil = mark, due
	return due.Sub(now), true
}

func (h *history) lastIgnores() map[string][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ignores
}

func (h *history) untilIgnores() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Until(h.ignoresUntil)
}

// lastPass returns the result of the last finished pass.
func (h *history) lastPass() fleet.Pass {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pass
}

// putPass stores the result of a pass, and reports whether it differs from the result of the pass before.
func (h *history) putPass(p fleet.Pass) (differs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	differs = !h.pass.Same(p)
	h.pass = p
	return differs
}

// putRevoked stores, for each device that templates removed with a person's consent, the IDs of these templates.
func (h *history) putRevoked(revoked map[fleet.DeviceID][]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.revoked = revoked
}

// revokedBy returns the IDs of the templates that removed a device with a person's consent.
func (h *history) revokedBy(device fleet.DeviceID) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.revoked[device]
}
