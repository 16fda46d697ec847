package reconcile

import (
	"sync"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// history is what is remembered of a device between two passes. It is lost with the process, except for the stops and
// the consents, which the store has too.
type history struct {
	stops   *plan.Stops
	answers *plan.Answers

	// Only the worker that has the device writes these two. Before workers run, Run writes them.
	restart    restarting
	unfinished []fleet.Intent // intents that a crash or a lost connection left open

	mu sync.Mutex // guards the rest

	print     fingerprint // fingerprint of what the last plan was made from
	observed  string      // digest of the document that the last plan was made from; "": plan again
	forgotten int         // how often forgetInputs was called
	letGo     int64       // generation as of which the last plan depends on who let templates go; 0: it does not
	version   [3]string   // operating system, architecture and version of the daemon when Online was last called

	readAt time.Time // when this engine last read the daemon
	read   string    // digest of the document that it read then

	ignores      map[string][]string // the ignore patterns by folder, as last read
	ignoresUntil time.Time           // when ignores are read again
	ignoresLack  bool                // Some could not be read.

	revoked map[fleet.DeviceID][]int64 // desired.Result.RevokedByTemplates of the last plan

	pass fleet.Pass // result of the last finished pass; its slices are not to be changed
}

func newHistory() history { return history{stops: plan.NewStops(), answers: plan.NewAnswers()} }

// forgetInputs has the next pass plan, even if nothing else changed.
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

// isDone reports whether the device needs no work: the document and the inputs are those of the last pass, which
// left nothing to do, and nothing else is due. generation is the one to which the device is admitted now. It counts
// only where the last plan depended on who let templates go, because that may differ in each generation.
func (h *history) isDone(digest string, print fingerprint, generation int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isDoneBut(digest, print, generation) && !h.areIgnoresDue()
}

// isDoneBut is isDone without the age of the ignore patterns. The caller holds mu.
func (h *history) isDoneBut(digest string, print fingerprint, generation int64) bool {
	return (h.letGo == 0 || h.letGo == generation) && h.observed == digest && h.print == print &&
		!h.restart.required && !h.isUnsaved() && !h.isBroughtBackOver()
}

// isBroughtBackOver reports whether the stop for a revoked device that came back has run out, so that the pass can
// end it.
func (h *history) isBroughtBackOver() bool {
	until := h.stops.BroughtBackUntil()
	return !until.IsZero() && !time.Now().Before(until)
}

// areIgnoresDue reports whether the ignore patterns have to be read again. The caller holds mu.
func (h *history) areIgnoresDue() bool { return h.ignores != nil && !time.Now().Before(h.ignoresUntil) }

// ignoresToCompare returns the ignore patterns of the last pass, where to read them again is all that is to do. It
// gives nil where some could not be read then.
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

// done notes that nothing is left to do for a document and its inputs, unless forgetInputs was called since the pass
// began: forgotten is the count of timesForgotten at that moment. letGo is planned.letGo of the plan.
func (h *history) done(digest string, print fingerprint, forgotten int, letGo int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.letGo = letGo
	if h.print = print; h.forgotten == forgotten {
		h.observed = digest
	}
}

// release is called when a pass begins to plan. The result of the last pass does not count any more, and stops end
// whose inputs have changed.
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

// wasRead notes when a document was read from the daemon, and its digest.
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

// overtakes reports whether this engine has read a newer configuration than kept, the one in the store.
func (h *history) overtakes(kept fleet.ObservedConfig) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return kept.SeenAt.Before(h.readAt) && kept.Digest != h.read
}

// putIgnores notes ignore patterns by folder. until is when they are read again; lack says that some could not be
// read.
func (h *history) putIgnores(patterns map[string][]string, until time.Time, lack bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ignores, h.ignoresUntil, h.ignoresLack = patterns, until, lack
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

// putPass keeps the result of a pass, and reports whether it differs from that of the pass before.
func (h *history) putPass(p fleet.Pass) (differs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	differs = !h.pass.Same(p)
	h.pass = p
	return differs
}

// putRevoked notes, for each device that templates removed with a person's consent, the IDs of these templates.
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
