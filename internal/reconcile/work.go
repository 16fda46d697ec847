package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/memlimit"
	"muster/internal/plan"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// job is one pass over a device: what it is planned from, and its result.
type job struct {
	m         *item
	device    *fleet.Registered
	current   *fleet.Registry
	view      *view // of the generation that the device is admitted to
	mode      fleet.Mode
	known     Known
	print     fingerprint
	forgotten int // as the memory had it when the look began
	templates []fleet.Template

	change   *change        // of a person; nil: the job is about templates
	revision stconfig.Value // that the change restores, once it was read

	handed  *fleet.ObservedConfig // what the store was given a moment ago; nil when that has to be asked
	session Session               // while it is being written to; nil otherwise
	doc     stconfig.Value        // as observed
	unread  map[string]string     // why ignore patterns are not known, by folder
	digest  string                // of doc
	run     string                // of the daemon that doc was read from; "" when it is not known
	entries []fleet.BaseEntry
	unsure  bool // something was sent that the daemon may not have saved: its run is read with each document

	result desired.Result
	plan   plan.Plan
	sent   []plan.Change // of all attempts
	failed error         // what ended the last attempt, and may pass
	halted bool          // Muster was stopped meanwhile

	outcome fleet.Outcome // of the last intent
	detail  string        // of that outcome
	lost    bool          // it answers no more since its access was changed, which was reported
}

// openSession opens a session; what the job reads from then on goes through it.
func (e *Engine) openSession(ctx context.Context, j *job) (err error) {
	j.session, err = e.o.Daemon.Session(ctx, j.m.id)
	return err
}

// closeSession ends the session.
func (j *job) closeSession() {
	if j.session != nil {
		j.session.Close()
		j.session = nil
	}
}

// errNothingSeen says that the daemon was never read.
var errNothingSeen = errors.New("never read")

// newJob reads what is known of a device; the device is nil when it is not registered.
func (e *Engine) newJob(ctx context.Context, m *item) (*job, error) {
	current, err := e.o.Store.Registry(ctx)
	if err != nil {
		return nil, err
	}
	v, err := e.viewOf(ctx, m.id, current)
	if err != nil {
		return nil, err
	}
	j := e.jobOf(m, current, v)
	j.forgotten = m.history.timesForgotten()
	if j.device == nil {
		return j, nil
	}
	j.print = e.fingerprint(v, m.id, j.mode, j.known, current.RootsOf(m.id))
	j.print.folders = m.history.stops.FolderErrors(j.known.FolderErrors)
	return j, nil
}

// jobOf is a job of a device at the generation of a view.
func (e *Engine) jobOf(m *item, current *fleet.Registry, v *view) *job {
	return &job{m: m, current: current, view: v, mode: current.ModeAt(v.registry, m.id), device: current.Devices[m.id],
		known: e.o.Daemon.Known(m.id), templates: v.registry.TemplatesOf(m.id)}
}

// observe takes the newest document that is known. The mirror writes behind, so the store may have an older one: then
// the daemon is read.
func (e *Engine) observe(ctx context.Context, j *job) error {
	if j.unsure = j.unsure || desired.AwaitSave(j.entries); j.unsure && j.known.Online {
		return e.read(ctx, j)
	}
	observed, err := j.newest(ctx, e.o.Store)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		return errNothingSeen
	case err != nil:
		return err
	case !j.overtaken(observed):
		return j.setDocument(ctx, observed, stconfig.Value{})
	case !j.known.Online:
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon's newest configuration is not kept yet",
			Hint: "Try again in a moment. If it lasts, look at Muster's log: its database may not take anything."}
	}
	return e.read(ctx, j)
}

// overtaken tells whether a newer configuration was read, by the mirror or here, than one that the store has.
func (j *job) overtaken(kept fleet.ObservedConfig) bool {
	if j.known.Unkept && kept.Digest != j.known.Digest {
		return true
	}
	j.m.history.mu.Lock()
	defer j.m.history.mu.Unlock()
	return kept.SeenAt.Before(j.m.history.readAt) && kept.Digest != j.m.history.read
}

// newest is the configuration that was kept last.
func (j *job) newest(ctx context.Context, kept Store) (fleet.ObservedConfig, error) {
	if j.handed != nil {
		return *j.handed, nil
	}
	return kept.ObservedConfig(ctx, j.m.id)
}

// lastRead is the digest of what was read last.
func (m *history) lastRead() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read
}

// smallDocument is how many bytes of a document take no part of the memory for large ones.
const smallDocument = 64 << 10

// setDocument makes a document the one that is planned from, if it can be believed. One that says the same as the one
// at hand is not taken apart again, nor one that was parsed already: then it is doc.
func (j *job) setDocument(ctx context.Context, observed fleet.ObservedConfig, doc stconfig.Value) (err error) {
	if observed.Digest != "" && observed.Digest == j.digest && j.doc.Exists() {
		return nil
	}
	if !doc.Exists() {
		if doc, err = parse(ctx, observed.JSON); err != nil {
			return err
		}
	}
	if err := stconfig.Usable(doc, j.m.id); err != nil {
		return err
	}
	if j.doc, j.digest = doc, observed.Digest; j.digest == "" {
		j.digest = stconfig.Digest(doc)
	}
	return nil
}

func parse(ctx context.Context, document []byte) (stconfig.Value, error) {
	if len(document) > smallDocument {
		if err := memlimit.Take(ctx, stconfig.ParsedSize(document)); err != nil {
			return stconfig.Value{}, err
		}
	}
	return stconfig.Parse(document)
}

// makePlan folds and plans from the document and the entries that the job holds. Ignore patterns that templates name
// are read when live, and taken as last read otherwise.
func (e *Engine) makePlan(ctx context.Context, j *job, live bool) error {
	if j.change != nil {
		return e.planChange(ctx, j)
	}
	secrets := e.newSecrets(ctx)
	patterns := j.m.history.lastIgnores()
	var fold desired.Input
	for attempt := 0; ; attempt++ {
		fold = e.foldInput(ctx, j, secrets)
		fold.Observed = desired.WithIgnores(j.doc, patterns)
		result, err := desired.Fold(fold)
		if err := cmp.Or(secrets.err, err); err != nil {
			return err
		}
		j.result = result
		if attempt > 0 || !live || len(result.Ignores) == 0 {
			break
		}
		patterns = e.readIgnores(ctx, j, result.Ignores)
	}
	made, err := plan.Make(e.planInput(ctx, j, foldedInput(fold, j.result, secrets)))
	j.plan = made
	return cmp.Or(secrets.err, err)
}

// foldInput is what the configuration of the job's device is folded from.
func (e *Engine) foldInput(ctx context.Context, j *job, secrets *secretCache) desired.Input {
	in := desired.Input{
		Device: j.m.id, OS: j.known.Version.OS, Observed: j.doc, Run: j.run, Entries: j.entries, Templates: j.templates,
		Unread: j.unread, Registered: j.view.label, Evaluate: e.evaluate(ctx, j), Take: taking(ctx),
		Secret: secrets.scope, SecretBytes: secrets.bytes, AdminSaved: fleet.Template.SavedByAdmin,
	}
	if d := j.view.registry.Devices[j.m.id]; d != nil {
		in.Tags = d.Tags
	}
	return in
}

// foldedInput is what a plan takes over from a fold.
func foldedInput(fold desired.Input, r desired.Result, secrets *secretCache) plan.Input {
	return plan.Input{
		Device: fold.Device, Observed: r.Observed(), Desired: r.Desired, Base: r.Base, Secret: secrets.text,
		Why:          func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) },
		ByAdmins:     sync.OnceValue(func() stconfig.Value { return desired.ByAdmins(fold, r) }),
		MadeByAdmins: r.MadeByAdmins,
	}
}

// planInput adds what is known of the job's device.
func (e *Engine) planInput(ctx context.Context, j *job, in plan.Input) plan.Input {
	in.Generation, in.Digest, in.Facts = j.view.registry.Generation, j.digest, e.guardFacts(ctx, j)
	in.SamePhrase = plan.SamePhrase(j.entries, j.m.id, e.o.DigestKey)
	in.Consent, in.Stopped = e.consented(j.m), j.m.history.stops.Reason
	for _, s := range j.result.Skipped {
		in.Skipped = append(in.Skipped, plan.Change{Key: s.Key, Templates: []int64{s.Template}, Reason: s.Reason})
	}
	return in
}

// guardFacts are what the guard knows of the job's device.
func (e *Engine) guardFacts(ctx context.Context, j *job) plan.Facts {
	r, id := j.current, j.m.id
	from := r // what the plan is made from
	if j.view != nil {
		from = j.view.registry
	}
	return plan.Facts{
		APIPort: r.Devices[id].APIPort, APIAddress: j.known.Address, ByAgent: j.known.ByAgent,
		AddressFixed: j.known.AddressFixed,
		System:       j.known.System, Roots: r.RootsOf(id),
		Registered:  func(id fleet.DeviceID) bool { return r.Devices[id] != nil },
		FolderPaths: func() ([]string, error) { return e.o.Store.FolderPaths(ctx, id) },
		OthersVars:  func(template int64) []string { return othersVars(from, id, template) },
	}
}

// othersVars are the vars that make an admin's template count as no admin's on a device.
func othersVars(r *fleet.Registry, id fleet.DeviceID, template int64) []string {
	for t := range r.Applying(id) {
		if t.ID == template && t.SavedByAdmin() && t.Reads.OrAll().ReadsVars() {
			return r.OthersVars(id)
		}
	}
	return nil
}

// evaluate runs templates for a device.
func (e *Engine) evaluate(ctx context.Context, j *job) func(fleet.Template, stconfig.Value) (desired.Fragment, error) {
	facts := j.view.facts(j.m.id, j.known)
	return func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
		r, err := e.o.Evaluator.Evaluate(ctx, t.Text, template.Input{Device: facts, Config: config,
			Fleet: j.view.fleetFor(t)})
		return desired.Fragment{Value: r.Value, ReadsConfig: r.ReadsConfig}, err
	}
}

// readIgnores reads the patterns of these folders, where the device has them. What cannot be read stays unknown, and is
// read again soon.
func (e *Engine) readIgnores(ctx context.Context, j *job, folders []string) map[string][]string {
	patterns, again := map[string][]string{}, ignoresEvery
	for _, folder := range j.foldersPresent(folders) {
		lines, err := e.ignoresOf(ctx, j, folder)
		if err != nil {
			e.log.Info("ignore patterns not read", logkey.Device, j.m.id, logkey.Folder, folder, logkey.Err(err))
			again = ignoresAgain
			continue
		}
		patterns[folder] = lines
	}
	j.m.history.mu.Lock()
	j.m.history.ignores, j.m.history.ignoresUntil = patterns, time.Now().Add(again)
	j.m.history.mu.Unlock()
	return patterns
}

// foldersPresent are those of the folders that the device has.
func (j *job) foldersPresent(folders []string) []string {
	has := map[string]bool{}
	for folder := range j.doc.Get("folders").Values() {
		has[folder.Get("id").Str()] = true
	}
	return slices.DeleteFunc(slices.Clone(folders), func(folder string) bool { return !has[folder] })
}

func (e *Engine) ignoresOf(ctx context.Context, j *job, folder string) ([]string, error) {
	if j.session != nil {
		return j.session.Ignores(ctx, folder)
	}
	return e.o.Daemon.Ignores(ctx, j.m.id, folder)
}

func (m *history) lastIgnores() map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ignores
}

func (m *history) untilIgnores() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Until(m.ignoresUntil)
}

// taking asks for the memory of a fold.
func taking(ctx context.Context) func(bytes int64) error {
	return func(bytes int64) error { return memlimit.Take(ctx, bytes) }
}
