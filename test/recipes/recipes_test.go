// Package recipes runs every recipe of the reference page on daemons. It checks that the templates do what the page
// says, that a second pass sends nothing, and that the configuration is the original one after the templates were
// removed.
//
//muster:needs daemons
//muster:test -race=false
package recipes

import (
	"context"
	"fmt"
	"os"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// wanted is how many recipes the page has.
const wanted = 13

func TestRecipes(t *testing.T) {
	fleet, recipes := readPage(t)
	if len(recipes) != wanted {
		t.Fatalf("the page has %d recipes, want %d", len(recipes), wanted)
	}
	for name, start := range map[string]func(*testing.T, []string) []*living{
		"real": startReal, "simulated v1": startSimulated(stsim.V1), "simulated v2": startSimulated(stsim.V2),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fleet, start)
			for _, r := range recipes {
				t.Run(r.title, func(t *testing.T) { w.run(t, r) })
			}
		})
	}
}

// world is a Muster, the daemons that run, and the devices that are registered.
type world struct {
	muster *server.Server
	fleet  []member
	alive  []*living
	names  names
}

// newWorld starts a daemon for each device of the page but the last, which is switched off.
func newWorld(t *testing.T, members []member, start func(*testing.T, []string) []*living) *world {
	t.Helper()
	var labels []string
	for _, m := range members[:len(members)-1] {
		labels = append(labels, m.label)
	}
	w := &world{fleet: members, names: names{}, alive: start(t, labels)}
	for _, l := range w.alive {
		w.names[l.label] = l.id
	}
	w.names[members[len(members)-1].label] = fleet.DeviceIDOf([32]byte{1})
	for _, l := range w.alive {
		l.prepare(t, w.names)
	}
	w.muster = server.Start(t, server.Options{Mode: fleet.ModeOn})
	return w
}

// run registers the page's fleet anew, and takes it through a recipe. Before the templates are taken away again,
// something else may happen in between.
func (w *world) run(t *testing.T, r recipe, between ...func()) {
	for _, l := range w.alive {
		l.reset(t)
	}
	w.mode(t, "observe")
	w.register(t)
	t.Cleanup(func() { w.clear(t) })
	for i, text := range r.templates {
		w.create(t, fmt.Sprintf("%s, part %d", r.title, i+1), text)
	}
	w.mode(t, "on")
	w.awaitIdle(t, r)
	for _, l := range w.alive {
		w.consent(t, l, r)
	}
	w.awaitIdle(t, r)
	for _, result := range r.results {
		w.check(t, r, result)
	}
	for _, l := range w.alive {
		noneTwice(t, l.label, l.taken())
	}
	w.secondRound(t)
	w.byHand(t, r)
	for _, happens := range between {
		happens()
	}
	w.takeAway(t)
}

func (w *world) mode(t *testing.T, mode string) {
	t.Helper()
	if err := w.muster.Client.PutMode(t.Context(), mode); err != nil {
		t.Fatal(err)
	}
}

func (w *world) register(t *testing.T) {
	t.Helper()
	for _, m := range w.fleet {
		id, label := string(w.names[m.label]), m.label
		key, address, port := "switched off", "127.0.0.1", int64(1)
		for _, l := range w.alive {
			if l.label == label {
				key, port = l.key, int64(l.port)
			}
		}
		if _, _, err := w.muster.Client.PutDevice(t.Context(), id,
			api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port, Label: &label}); err != nil {
			t.Fatal(err)
		}
		for _, tag := range m.tags {
			if _, err := w.muster.Client.TagDevice(t.Context(), id, tag); err != nil {
				t.Fatal(err)
			}
		}
	}
	var state api.DeviceState
	for _, l := range w.alive {
		wait.ForState(t, func() string { return fmt.Sprintf("%s is not read: %+v", l.label, state) }, func() bool {
			state = w.state(t, l)
			return state.Connection == "online" && state.Configuration == "unmanaged"
		})
	}
}

// clear takes everything away while nothing is written.
func (w *world) clear(t *testing.T) {
	t.Helper()
	ctx := context.Background() // the test's own has ended
	if err := w.muster.Client.PutMode(ctx, "observe"); err != nil {
		t.Fatal(err)
	}
	w.deleteTemplates(ctx, t)
	for _, id := range w.names {
		if err := w.muster.Client.DeleteDevice(ctx, string(id)); err != nil {
			t.Error(err)
		}
	}
}

func (w *world) deleteTemplates(ctx context.Context, t *testing.T) {
	t.Helper()
	templates, err := w.muster.Client.Templates(ctx, client.List{})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range templates {
		if err := w.muster.Client.DeleteTemplate(ctx, made.ID); err != nil {
			t.Error(err)
		}
	}
}
