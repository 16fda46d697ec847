package desired

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// explaining is the fold of templates "KEY OP TEXT" over a document.
func explaining(t *testing.T, doc string, entries []fleet.BaseEntry, templates ...string) Input {
	t.Helper()
	observed, err := stconfig.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Device: stconfig.SampleID, Observed: observed, Entries: entries,
		Evaluate: func(t fleet.Template, _ stconfig.Value) (Fragment, error) {
			v, err := stconfig.Parse([]byte(t.Text))
			return Fragment{Value: v}, err
		}}
	for i, text := range templates {
		parts := strings.SplitN(text, " ", 3)
		in.Templates = append(in.Templates, fleet.Template{ID: int64(i + 1), Label: fmt.Sprint("t", i+1), Key: parts[0],
			Op: fleet.Op(parts[1]), Text: parts[2]})
	}
	return in
}

const managedDoc = `{"folders":[{"id":"team","path":"/team","paused":true,"rescanIntervalS":60}],
	"options":{"maxSendKbps":5,"natEnabled":false,"maxRecvKbps":0,"urAccepted":3}}`

// teamMade is the record of the folder that Muster made, and of which somebody changed the interval.
var teamMade = []fleet.BaseEntry{
	{Key: "folders.team", Kind: fleet.BaseMade,
		Written: []byte(`{"id":"team","path":"/team","paused":true,"rescanIntervalS":3600}`)},
	{Key: "folders.team.rescanIntervalS", Kind: fleet.BasePerson, State: fleet.BaseTheirs, Base: []byte("60")},
}

func TestManagedNamesTheNearestOwnerOfAKey(t *testing.T) {
	r, err := Fold(explaining(t, managedDoc, teamMade, `folders.team merge {"path":"/team","paused":true}`,
		`options merge {"maxSendKbps":5,"natEnabled":true}`, `options.natEnabled set false`, `gui.gone remove null`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Managed() {
		got = append(got, fmt.Sprint(m.Key, " ", m.Owner, " ", m.Templates))
	}
	want := []string{"folders.team template [1]", "folders.team.rescanIntervalS daemon []",
		"options.maxSendKbps template [2]",
		"options.natEnabled template [2 3]"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReasonsNameWhereAValueComesFrom(t *testing.T) {
	in := explaining(t, managedDoc, teamMade, `folders.team merge {"path":"/team","paused":true}`,
		`options merge {"maxSendKbps":7,"natEnabled":false}`, `options.maxSendKbps set 9`)
	for text, want := range map[string]string{
		"options.maxSendKbps":          `template 3 "t3" sets it, as the last of 2 templates that change it. The daemon has not got this yet`,
		"options.natEnabled":           `template 2 "t2" asks for the value that the device has without Muster, too`,
		"options.maxRecvKbps":          "no template asks for it: it is the default of Syncthing",
		"options.urAccepted":           "no template asks for it: somebody set it at the daemon, or the daemon did",
		"folders.team.paused":          `template 1 "t1" sets it`,
		"folders.team.rescanIntervalS": "somebody set it at the daemon, inside of what Muster made",
	} {
		key, err := stconfig.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Explain(in, key)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Reason(); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestTheReasonOfDriftIsTheChangeAtTheDaemon(t *testing.T) {
	entries := []fleet.BaseEntry{{Key: "options.maxSendKbps", Kind: fleet.BaseLeaf, Base: []byte("0"),
		Written: []byte("7")}}
	key, err := stconfig.ParseKey("options.maxSendKbps")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Explain(explaining(t, managedDoc, entries, `options.maxSendKbps set 7`), key)
	if err != nil {
		t.Fatal(err)
	}
	if want := `template 1 "t1" sets it. Somebody changed it at the daemon`; e.Reason() != want {
		t.Errorf("got %q, want %q", e.Reason(), want)
	}
}
