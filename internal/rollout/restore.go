package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// Revisions is what is kept of a device, for a Restorer.
type Revisions interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error)
	BaseEntries(ctx context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error)
	BeginIntent(ctx context.Context, intent fleet.Intent, entries []fleet.BaseEntry) (int64, error)
	FinishIntent(ctx context.Context, id int64, outcome fleet.Outcome, detail string, entries []fleet.BaseEntry) error
}

// Session is one connection to a daemon. While it is open nobody else writes to that daemon.
type Session interface {
	Config(ctx context.Context) (fleet.ObservedConfig, error)
	Write(ctx context.Context, method, path string, body []byte) error
	Close()
}

// RestoreOptions make a Restorer.
type RestoreOptions struct {
	Revisions Revisions
	Session   func(ctx context.Context, id fleet.DeviceID) (Session, error)
	Facts     func(ctx context.Context, r *fleet.Registry, id fleet.DeviceID) plan.Facts
	Mode      func(id fleet.DeviceID) fleet.Mode
	// Restored is told what configuration a restore or an amendment left, and the cause; it must not block.
	Restored func(id fleet.DeviceID, digest, cause string)
	// Undone says which of these changes templates would take back from a document, and why; "" when none. Nil: none.
	Undone func(ctx context.Context, id fleet.DeviceID, doc stconfig.Value, changes []stconfig.Change) (why string, err error)
	// Unverified is given the intent of a restore of which nobody knows what became; it must not block.
	Unverified func(fleet.Intent)
	// Step names the steps of a restore as they are reached, for tests that stop the process there.
	Step func(name string)
}

// The steps of a restore, as RestoreOptions.Step names them.
const (
	StepRestoreIntent  = "restore: after intent"
	StepRestoreWritten = "restore: after writes"
	StepRestoreOutcome = "restore: before outcome"
)

// Restorer compares the revisions of a device and restores them.
type Restorer struct {
	o RestoreOptions

	mu   sync.Mutex                       // guards busy
	busy map[fleet.DeviceID]chan struct{} // of capacity 1: who restores the device
}

// NewRestorer makes one; it starts nothing.
func NewRestorer(o RestoreOptions) *Restorer {
	return &Restorer{o: o, busy: map[fleet.DeviceID]chan struct{}{}}
}

// Compare says what leads from one revision of a device to another. Secrets are masked.
func (r *Restorer) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	a, err := r.document(ctx, id, from)
	if err != nil {
		return nil, err
	}
	b, err := r.document(ctx, id, to)
	if err != nil {
		return nil, err
	}
	changes := stconfig.Diff(a, b)
	for i, c := range changes {
		changes[i].From, changes[i].To = stconfig.MaskAt(c.Key, c.From), stconfig.MaskAt(c.Key, c.To)
	}
	return changes, nil
}

func (r *Restorer) document(ctx context.Context, id fleet.DeviceID, number int64) (stconfig.Value, error) {
	revision, err := r.o.Revisions.Revision(ctx, id, number)
	if err != nil {
		return stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(revision.JSON)
	if err != nil {
		return stconfig.Value{}, err
	}
	return doc, stconfig.Usable(doc, id)
}

// RestoreRequest says what to restore.
type RestoreRequest struct {
	Section string   // a section or a key in it, like "options" or "folders.photos"; "" is everything
	Digest  string   // of the plan that the person saw; needed with Consent
	Consent []string // keys of held changes that may go out
}

// Restored is what came of a restore.
type Restored struct {
	Plan   plan.Plan     // what it changes; as a whole it waits while one of its changes waits for consent
	Done   bool          // it was sent and read back
	Left   []plan.Change // what is not restored, with the reason
	Reason string        // for a person
	Next   string
}

// Restore brings a device's configuration, or a section of it, back to a revision, through plan and guard. What
// templates write stays theirs; so do the daemon's password and how its API is reached.
func (r *Restorer) Restore(ctx context.Context, id fleet.DeviceID, number int64, request RestoreRequest) (Restored, error) {
	section, err := sectionOf(request.Section)
	if err != nil {
		return Restored{}, err
	}
	target, err := r.document(ctx, id, number)
	if err != nil {
		return Restored{}, err
	}
	release, err := r.take(ctx, id)
	if err != nil {
		return Restored{}, err
	}
	defer release()
	session, err := r.o.Session(ctx, id)
	if err != nil {
		return Restored{}, err
	}
	w := restoring{
		Restorer: r, id: id, section: section, session: session, request: request, cause: fleet.CauseRestore,
		what: fmt.Sprintf("restore of revision %d", number), done: fmt.Sprintf("revision %d restored", number),
		nothing: fmt.Sprintf("nothing that can be restored differs from revision %d", number),
		target:  func(now stconfig.Value) (stconfig.Value, error) { return stconfig.Restorable(target, now), nil },
	}
	defer w.hangUp()
	err = w.bring(ctx, func(context.Context) (bool, error) { return !w.waits(), nil })
	return w.out, err
}

func sectionOf(text string) (stconfig.Key, error) {
	section, err := stconfig.ParseKey(text)
	if err != nil {
		return section, err
	}
	for i := range section.Len() {
		if section.At(i).Name == "*" {
			return section, fleet.Invalidf("section", "a section is one place: name it, without *")
		}
	}
	return section, nil
}

// take lets one restore at a time work on a device.
func (r *Restorer) take(ctx context.Context, id fleet.DeviceID) (release func(), err error) {
	r.mu.Lock()
	turn := r.busy[id]
	if turn == nil {
		turn = make(chan struct{}, 1)
		r.busy[id] = turn
	}
	r.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// restoring is one restore, or one amendment, under way.
type restoring struct {
	*Restorer
	id      fleet.DeviceID
	cause   string // of the revision that it makes
	what    string // is done, for the record
	done    string // what to say when it is
	nothing string // what to say when nothing has to be
	section stconfig.Key
	target  func(doc stconfig.Value) (stconfig.Value, error)
	session Session
	request RestoreRequest

	doc    stconfig.Value    // as read last
	wanted []stconfig.Change // of it
	left   []plan.Change     // still, after it was read back
	out    Restored
}

// read is the configuration that the daemon has now, if it can be believed.
func (w *restoring) read(ctx context.Context) (doc stconfig.Value, err error) {
	read, err := w.session.Config(ctx)
	if err == nil {
		doc, err = stconfig.Parse(read.JSON)
	}
	if err == nil {
		err = stconfig.Usable(doc, w.id)
	}
	return doc, err
}

// plan reads the daemon and says what a restore changes now.
func (w *restoring) plan(ctx context.Context) error {
	var err error
	if w.doc, err = w.read(ctx); err != nil {
		return err
	}
	entries, err := w.o.Revisions.BaseEntries(ctx, w.id)
	if err != nil {
		return err
	}
	registry, err := w.o.Revisions.Registry(ctx)
	if err != nil {
		return err
	}
	if registry.Devices[w.id] == nil {
		return fleet.NotFoundf("there is no device %s", w.id)
	}
	target, err := w.target(w.doc)
	if err != nil {
		return err
	}
	w.out.Left, w.wanted = nil, nil
	for _, c := range stconfig.Diff(w.doc, target) {
		why, within := w.exempt(c, entries)
		switch {
		case !within:
		case why != "":
			w.out.Left = append(w.out.Left, plan.Change{Key: c.Key, From: c.From, To: c.To, Class: plan.Skipped, Reason: why})
		default:
			w.wanted = append(w.wanted, c)
		}
	}
	desired := stconfig.Patch(w.doc, w.wanted)
	byAdmins := func() stconfig.Value { return w.doc }
	if fleet.RoleOf(ctx) == fleet.RoleAdmin {
		byAdmins = func() stconfig.Value { return desired }
	}
	made, err := plan.Make(plan.Input{
		Device: w.id, Generation: registry.Generation, Observed: w.doc, Desired: desired, ByAdmins: byAdmins,
		Facts:   w.o.Facts(ctx, registry, w.id),
		Consent: func(c plan.Change) bool { return slices.Contains(w.request.Consent, c.Key.String()) },
	})
	w.out.Plan = made
	if err != nil {
		return err
	}
	for _, c := range made.Changes {
		if c.Class == plan.Refused {
			w.out.Left = append(w.out.Left, c)
		}
	}
	return w.checkConsent()
}

// exempt tells whether a difference is in the section, and why it is not restored all the same.
func (w *restoring) exempt(c stconfig.Change, entries []fleet.BaseEntry) (why string, within bool) {
	if !c.Key.HasPrefix(w.section) {
		if w.section.HasPrefix(c.Key) {
			return fmt.Sprintf("it is there as a whole or not at all: restore %s", c.Key), true
		}
		return "", false
	}
	switch name := strings.ToLower(c.Key.String()); name {
	case "version":
		return "the version of the configuration belongs to the daemon", true
	case "gui.password":
		return "a password hash is never put back: old daemons would hash it once more and lock the user out", true
	case "gui.address", "gui.usetls", "gui.apikey", "gui.enabled":
		return "how the daemon's API is reached is not restored: there would be no way back", true
	}
	for _, e := range entries {
		key, err := stconfig.ParseKey(e.Key)
		if err == nil && e.Stands() && (c.Key.HasPrefix(key) || key.HasPrefix(c.Key)) {
			return "templates write it: change those", true
		}
	}
	return "", true
}

func (w *restoring) checkConsent() error {
	if len(w.request.Consent) == 0 && w.request.Digest == "" {
		return nil
	}
	if w.request.Digest != w.out.Plan.Digest {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "what the restore would change is another by now",
			Hint: "Ask for the restore without consent, look at its plan, and consent to that one."}
	}
	for _, key := range w.request.Consent {
		if !slices.ContainsFunc(w.out.Plan.Changes, func(c plan.Change) bool { return c.Class == plan.Held && c.Key.String() == key }) {
			return fleet.Invalidf("consent", "nothing at %q waits for consent", key)
		}
	}
	return nil
}

// waits tells whether nothing is to be sent now, and says why.
func (w *restoring) waits() bool {
	held := 0
	var first plan.Change
	for _, c := range w.out.Plan.Changes {
		if c.Class == plan.Held && !c.Consented {
			if held++; held == 1 {
				first = c
			}
		}
	}
	mode := w.o.Mode(w.id)
	switch {
	case len(w.out.Plan.Sendable()) == 0 && held == 0:
		w.out.Reason = w.nothing
	case mode != fleet.ModeOn:
		w.out.Reason, w.out.Next = "nothing is written: the mode is "+string(mode), "`muster status` lists the stops in force, with the command that ends each."
	case held > 0:
		w.out.Reason = fmt.Sprintf("%d changes wait for consent, the first is %s: %s", held, first.Key, first.Reason)
		w.out.Next = "Ask again with the plan's digest, and consent to the held keys; nothing was written."
	default:
		return false
	}
	return true
}
