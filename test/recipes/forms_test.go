package recipes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/form"
	"muster/internal/stsim"
)

// TestForms takes the templates that forms write through the same life as the recipes of the page.
func TestForms(t *testing.T) {
	fleet, _ := readPage(t)
	for name, start := range map[string]func(*testing.T, []string) []*living{
		"real": startReal, "simulated v2": startSimulated(stsim.V2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fleet, start)
			for _, c := range formCases {
				t.Run(c.title(), func(t *testing.T) { w.run(t, c.recipe(t), func() { w.isForm(t, c) }) })
			}
		})
	}
}

// formCase is a form that was filled in, and what it leads to, as lines of the page say it.
type formCase struct {
	kind    string
	values  form.Values
	results string
}

const runsCommand = "external versioning runs a command on the device"

var formCases = []formCase{
	{"limits", form.Values{"tags": {"site:lima"}, "send": {"2 MB/s"}, "receive": {"16 Mbit/s"}, "lan": {"on"}},
		`laptop: options.maxSendKbps is 1953
laptop: options.maxRecvKbps is 1953
laptop: options.limitBandwidthInLan is true
office: options.maxSendKbps is 0`},
	{"network", form.Values{"tags": {"team"}, "relays": {"off"}, "nat": {"off"}},
		`office: options.relaysEnabled is false
laptop: options.natEnabled is false`},
	{"versioning", form.Values{"tags": {"everyone"}, "type": {"simple"}, "keep": {"7"}},
		`office: folders.photos.versioning.type is "simple"
laptop: folders.photos.versioning.params is {"keep": "7", "cleanoutDays": "30"}`},
	{"versioning", form.Values{"tags": {"hub"}, "folder": {"photos"}, "type": {"external"}, "command": {"/bin/true"}},
		`office: folders.photos.versioning.type is "external", after consent (` + runsCommand + `)
office: folders.photos.versioning.params is {"command": "/bin/true"}, after consent (` + runsCommand + `)`},
	{"ignores", form.Values{"tags": {"everyone"}, "folder": {"photos"}, "patterns": {"(?d).DS_Store", "*.tmp"}},
		`office: ignores.photos is ["(?d).DS_Store", "*.tmp"]
laptop: ignores.photos is ["(?d).DS_Store", "*.tmp"]`},
	{"setting", form.Values{"tags": {"everyone"}, "key": {"options.maxFolderConcurrency"}, "value": {"2"}},
		`office: options.maxFolderConcurrency is 2`},
	{"setting", form.Values{"tags": {"hub"}, "key": {"folders.photos.maxConflicts"}, "value": {"5"}},
		`office: folders.photos.maxConflicts is 5
laptop: folders.photos.maxConflicts is 10`},
	{"names", form.Values{"tags": {"everyone"}},
		`office: devices.<office>.name is "office"
laptop: devices.<attic>.name is "attic"`},
	{"rescan", form.Values{"tags": {"everyone"}, "minutes": {"30"}},
		`office: folders.photos.rescanIntervalS is between 1800 and 2099
laptop: folders.photos.rescanIntervalS is between 1800 and 2099`},
	{"introducer", form.Values{"tags": {"spoke"}, "hubs": {"hub"}},
		`laptop: devices.<office>.introducer is true, after consent (an introducer adds and removes devices on its own)`},
}

func (c formCase) title() string { return c.kind + " " + strings.Join(c.values["tags"], " ") }

func (c formCase) filled(t *testing.T) form.Filled {
	t.Helper()
	filled, err := form.Fill(c.kind, c.values)
	if err != nil {
		t.Fatal(err)
	}
	if err := filled.Validate(); err != nil {
		t.Fatal(err)
	}
	return filled
}

func (c formCase) recipe(t *testing.T) recipe {
	t.Helper()
	written := c.filled(t).Write()
	r := recipe{title: c.title(), templates: []templateText{{op: string(written.Op), key: written.Key,
		tags: c.values["tags"], text: written.Text}}}
	for line := range strings.SplitSeq(c.results, "\n") {
		r.results = append(r.results, parseResult(t, line))
	}
	return r
}

// isForm checks that the server shows the stored template as the form that wrote it.
func (w *world) isForm(t *testing.T, c formCase) {
	t.Helper()
	all, err := w.muster.Client.Templates(t.Context(), client.List{})
	key := c.filled(t).Write().Key
	i := slices.IndexFunc(all, func(made api.Template) bool { return made.Key == key })
	if err != nil || i < 0 {
		t.Fatalf("no template of %d has the key %s, %v", len(all), key, err)
	}
	shown, err := w.muster.Client.TemplateForm(t.Context(), all[i].ID)
	if err != nil || shown.Form == nil || shown.Form.Filled == nil ||
		!maps.EqualFunc(shown.Form.Filled.Fields, c.filled(t).Values, slices.Equal) {
		t.Errorf("got %+v, %v, want %v", shown.Form, err, c.filled(t).Values)
	}
}
