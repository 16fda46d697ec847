package plan_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

var update = flag.Bool("update", false, "rewrite the expected plans in testdata")

// A case is a file with these sections; those marked with ? may be missing.
//
//	-- templates --   blocks that begin with "# ID PRIORITY OP KEY"; below it the template's text
//	-- observed -- ?  HJSON, merged over the sample document
//	-- observed.OP.KEY -- ?  one more change of the observed document, by an op at a key
//	-- wrote -- ?     templates whose result Muster wrote before, consent given: what they changed has base entries
//	-- edited -- ?    HJSON merged over that by a person at the daemon
//	-- registered -- ? lines "DEVICE-ID LABEL"
//	-- consent -- ?   keys, one a line
//	-- choose -- ?    lines "KEY NAME" with values that a person chose by name
//	-- plan --        the result
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runCase(t, archive)
			for i, section := range archive.Files {
				if section.Name != "plan" {
					continue
				}
				if *update {
					archive.Files[i].Data = []byte(got)
					if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if got != string(section.Data) {
					t.Errorf("got\n%s\nwant\n%s", got, section.Data)
				}
				return
			}
			t.Error("no section plan")
		})
	}
}

func runCase(t *testing.T, archive *txtar.Archive) string {
	c := newScene(t)
	var templates []fleet.Template
	consent, chosen := map[string]bool{}, map[string]string{}
	for _, section := range archive.Files {
		if section.Name != "registered" {
			continue
		}
		for line := range strings.Lines(string(section.Data)) {
			id, label, _ := strings.Cut(strings.TrimSpace(line), " ")
			c.registered[fleet.DeviceID(id)] = label
		}
	}
	c.consent = func(plan.Change) bool { return true }
	for _, section := range archive.Files {
		text := string(section.Data)
		switch {
		case section.Name == "templates":
			templates = parseTemplates(t, text)
		case strings.HasPrefix(section.Name, "observed"):
			op, key := fleet.OpMerge, ""
			if parts := strings.SplitN(section.Name, ".", 3); len(parts) == 3 {
				op, key = fleet.Op(parts[1]), parts[2]
			}
			c.edit(op, key, text)
		case section.Name == "wrote":
			c.write(parseTemplates(t, text))
		case section.Name == "edited":
			c.edit(fleet.OpMerge, "", text)
		case section.Name == "consent":
			for line := range strings.Lines(text) {
				consent[strings.TrimSpace(line)] = true
			}
		case section.Name == "choose":
			for line := range strings.Lines(text) {
				key, name, _ := strings.Cut(strings.TrimSpace(line), " ")
				chosen[key] = name
			}
		}
	}
	c.consent = func(change plan.Change) bool { return consent[change.Key.String()] }
	c.chosen = func(change plan.Change) string { return chosen[change.Key.String()] }
	return c.describe(templates)
}

// parseTemplates reads blocks that begin with "# ID PRIORITY OP KEY".
func parseTemplates(t *testing.T, text string) []fleet.Template {
	t.Helper()
	var templates []fleet.Template
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "# ") {
			if len(templates) == 0 {
				if strings.TrimSpace(line) == "" {
					continue
				}
				t.Fatalf("text before the first template: %q", line)
			}
			templates[len(templates)-1].Text += line
			continue
		}
		fields := strings.SplitN(strings.TrimSpace(line[2:]), " ", 4)
		id, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || len(fields) < 3 {
			t.Fatalf("no template: %q", line)
		}
		priority, _ := strconv.ParseInt(fields[1], 10, 64)
		made := fleet.Template{ID: id, Priority: priority, Op: fleet.Op(fields[2])}
		if len(fields) == 4 {
			made.Key = fields[3]
		}
		templates = append(templates, made)
	}
	return templates
}

// scene is a device and its daemon, as far as pure functions go.
type scene struct {
	person     stconfig.Value // what the daemon had before any template; none: nothing is compared with it
	t          *testing.T
	own        fleet.DeviceID
	observed   stconfig.Value
	run        string // of the daemon
	entries    []fleet.BaseEntry
	registered map[fleet.DeviceID]string
	facts      plan.Facts
	consent    func(plan.Change) bool
	chosen     func(plan.Change) (name string)
	stopped    func(stconfig.Key) fleet.Stop
	samePhrase func(text, hash string) bool
	away       map[fleet.DeviceID]string
	letGo      fleet.Role // of the person who took away the templates that are gone; "": an admin
}

var linux = fleet.System{OS: "linux", PathSeparator: "/", Tilde: "/home/sample"}

func newScene(t *testing.T) *scene {
	return &scene{t: t, own: stconfig.SampleID, observed: stconfig.Sample(), registered: map[fleet.DeviceID]string{},
		facts: plan.Facts{APIPort: 8384, APIAddress: "127.0.0.1", System: linux, Roots: []string{"~"}}}
}

// edit is a person's, at the daemon.
func (c *scene) edit(op fleet.Op, key, text string) {
	c.t.Helper()
	k, err := stconfig.ParseKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	fragment, err := run(fleet.Template{Text: text}, c.observed)
	if err != nil {
		c.t.Fatal(err)
	}
	edited, skips, err := stconfig.Apply(c.observed, op, k, fragment.Value, c.own)
	if err != nil || len(skips) > 0 {
		c.t.Fatal("edit: ", skips, err)
	}
	c.observed = edited
}

func run(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
	program, err := template.Compile(t.Text)
	if err != nil {
		return desired.Fragment{}, err
	}
	r, err := program.Evaluate(template.Input{Device: template.Facts{DeviceID: stconfig.SampleID, Label: "sample",
		OS: "linux"}, Config: template.Conceal(config)}, template.Limits{})
	return desired.Fragment{Value: r.Value, ReadsConfig: program.Reads().Config}, err
}

// plan takes templates whose saver is not said for an admin's.
func (c *scene) plan(templates []fleet.Template) (desired.Result, plan.Plan, error) {
	templates = slices.Clone(templates)
	for i := range templates {
		templates[i].SavedRole = cmp.Or(templates[i].SavedRole, fleet.RoleAdmin)
	}
	secrets := map[string]string{"pw": "correct horse", "hash": strings.Repeat("x", 10), "kind": "external"}
	fold := desired.Input{Device: c.own, Observed: c.observed, Run: c.run, Entries: c.entries, Templates: templates,
		Registered: c.label, Evaluate: run, AdminSaved: fleet.Template.SavedByAdmin, Away: c.away,
		Secret: func(name string) (fleet.SecretScope, bool) { return fleet.SecretScope{}, secrets[name] != "" }}
	r, err := desired.Fold(fold)
	if err != nil {
		return r, plan.Plan{}, err
	}
	facts := c.facts
	facts.ByAdmin = func(id int64) bool {
		at := slices.IndexFunc(templates, func(t fleet.Template) bool { return t.ID == id })
		if at < 0 {
			return c.letGo == "" || c.letGo == fleet.RoleAdmin
		}
		return templates[at].SavedByAdmin()
	}
	facts.Registered = func(id fleet.DeviceID) bool { _, registered := c.registered[id]; return registered }
	in := plan.Input{Device: c.own, Generation: 7, Observed: r.Observed(), Desired: r.Desired, Facts: facts,
		Consent: c.consent, Chosen: c.chosen, Stopped: c.stopped, SamePhrase: c.samePhrase,
		Base: r.Base, Cleared: r.Cleared(), MadeByAdmins: r.MadeByAdmins,
		ByAdmins: func() (stconfig.Value, error) { return adminsAlone(fold, r) },
		Why:      func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) },
		Secret:   func(name string) (string, bool) { return secrets[name], secrets[name] != "" }}
	for _, s := range r.Skipped {
		in.Skipped = append(in.Skipped, plan.Change{Key: s.Key, Templates: []int64{s.Template}, Reason: s.Reason})
	}
	p, err := plan.Make(in)
	return r, p, err
}

// adminsAlone gives what the templates of admins make by themselves, nothing where they fail.
func adminsAlone(fold desired.Input, all desired.Result) (stconfig.Value, error) {
	alone, err := desired.ByAdmins(fold, all)
	if fleet.CodeOf(err) == fleet.CodeInvalid {
		return stconfig.Value{}, nil
	}
	return alone, err
}

// write brings the daemon to what the templates ask, as far as it may be sent, and keeps the entries.
func (c *scene) write(templates []fleet.Template) plan.Plan {
	c.t.Helper()
	r, p, err := c.plan(templates)
	if err != nil {
		c.t.Fatal(err)
	}
	var sent []desired.Sent
	var keys []stconfig.Key
	for _, change := range p.Sendable() {
		sent = append(sent, desired.Sent{Key: change.Key, To: change.Sending(),
			Consented: change.Class == plan.Held})
		keys = append(keys, change.Key)
		c.observed = stconfig.Replace(c.observed, change.Key, change.Sending())
	}
	if c.entries, err = desired.Finish(r.Begin(sent),
		desired.Reading{Document: c.observed, Own: c.own, Acknowledged: keys, Saved: true}); err != nil {
		c.t.Fatal(err)
	}
	again, _, err := c.plan(templates)
	if err != nil {
		c.t.Fatal(err)
	}
	c.entries = again.Entries
	return p
}

// keep is a person's answer to what would return.
func (c *scene) keep(keys ...string) {
	c.t.Helper()
	var parsed []stconfig.Key
	for _, key := range keys {
		parsed = append(parsed, keyOf(c.t, key))
	}
	var err error
	if c.entries, err = desired.Keep(c.entries, parsed, c.observed); err != nil {
		c.t.Fatal(err)
	}
}

func (c *scene) describe(templates []fleet.Template) string {
	var out bytes.Buffer
	_, p, err := c.plan(templates)
	if err != nil {
		fmt.Fprintf(&out, "error %s: %v\n", fleet.CodeOf(err), err)
		return out.String()
	}
	for _, change := range p.Changes {
		from, to := change.Shown()
		fmt.Fprintf(&out, "%s %s", change.Class, change.Key)
		if change.Class != plan.Skipped {
			fmt.Fprintf(&out, ": %s -> %s", shown(from), shown(to))
		}
		fmt.Fprintf(&out, " %v", change.Templates)
		for _, flag := range []struct {
			on   bool
			name string
		}{{change.Drift, "drift"}, {change.Returns, "returns"}, {change.Access, "access"}, {change.Consented, "consented"}} {
			if flag.on {
				fmt.Fprint(&out, " ", flag.name)
			}
		}
		if change.Reason != "" {
			fmt.Fprintf(&out, " (%s)", change.Reason)
		}
		out.WriteByte('\n')
	}
	for _, w := range plan.Writes(p, c.observed) {
		fmt.Fprintf(&out, "%s %s", w.Method, w.Path)
		if w.Whole {
			fmt.Fprint(&out, " the whole document")
		}
		if w.Body.Exists() {
			fmt.Fprintf(&out, " %s", shown(w.Body))
		}
		out.WriteByte('\n')
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return strings.NewReplacer(string(stconfig.SampleID), "OWN", nora, "NORA").Replace(out.String())
}

// nora is another device.
const nora = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"

func shown(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	const enough = 120
	text := strings.NewReplacer(string(stconfig.SampleID), "OWN", nora, "NORA").Replace(string(v.JSON()))
	if len(text) > enough {
		text = text[:enough] + "…"
	}
	return text
}

func (c *scene) label(id fleet.DeviceID) (label string, registered bool) {
	label, registered = c.registered[id]
	return label, registered
}
