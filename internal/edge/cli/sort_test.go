package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"muster/api"
)

// unsorted are the lists without --sort, and why.
var unsorted = map[string]string{
	"muster author-keys list":  "it lists words in the order of the alphabet",
	"muster folder-roots list": "it lists words in the order of the alphabet",
	"muster consent list":      "it groups what waits by the same change",
}

func TestEveryListIsSortedAsAPersonAsks(t *testing.T) {
	eachCommand(allNodes(t), func(command string, flags map[string]*kong.Flag) {
		reason, excused := unsorted[command]
		switch {
		case !strings.HasSuffix(command, " list"):
		case excused == (flags["sort"] != nil):
			t.Errorf("%s: --sort is there: %t, and it is excused: %q", command, flags["sort"] != nil, reason)
		}
	})
}

func TestTextsAreSortedAsPeopleSortNames(t *testing.T) {
	got := []string{"nas-10", "Nas-2", "nas-2", "laptop", "nas", "nas-002b", ""}
	slices.SortFunc(got, compareTexts)
	if want := []string{"", "laptop", "nas", "Nas-2", "nas-2", "nas-002b", "nas-10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsNotKnownComesLastInEitherDirection(t *testing.T) {
	type row struct {
		name string
		size int64
	}
	list := columns[row]{titles: []string{"NAME", "SIZE"}, name: func(r row) string { return r.name },
		row:     func(r row) []string { return []string{r.name, "unit"} },
		figures: map[string]func(row) int64{"size": func(r row) int64 { return r.size }}}
	all := []row{{"b", 2}, {"-", 900}, {"a", 1000}, {"c", -1}}
	for by, want := range map[string]string{"": "b-ac", "name": "abc-", "-name": "cba-", "size": "b-ac", "-SIZE": "a-bc"} {
		sorted, err := inOrder(sorting{by}, list, all)
		got := ""
		for _, r := range sorted {
			got += r.name
		}
		if err != nil || got != want {
			t.Errorf("--sort %q: got %q, %v, want %q", by, got, err, want)
		}
	}
	if _, err := inOrder(sorting{"siez"}, list, all); err == nil || !strings.Contains(hintOf(err), "Did you mean size?") {
		t.Errorf("got %v", err)
	}
}

func TestListsAreSortedByAColumn(t *testing.T) {
	address, asked := serving(t, map[string]any{
		"tags":      []string{"a", "B", "c10", "c9"},
		"rollouts":  []api.Rollout{{ID: 9, Status: "running"}, {ID: 10, Status: "done"}},
		"inventory": api.Inventory{}, "devices": []api.Device{},
	})
	for typed, want := range map[string]string{
		"tag list --sort -name":       "c10\nc9\nB\na\n",
		"tag list --sort tag":         "a\nB\nc9\nc10\n",
		"rollout list --sort status":  "10\n9\n",
		"rollout list --sort -id":     "10\n9\n",
		"rollout list --sort=created": "9\n10\n",
		"device list --sort -seen":    "",
	} {
		code, out, errs := run(t, append(strings.Fields(typed), "-o", "name", "--server", address, "--token", "x")...)
		if code != exitDone || out != want {
			t.Errorf("%s: got %d, %q%s, want %q", typed, code, out, errs, want)
		}
	}
	if asked["inventory"] != "sort=-lastSeen" {
		t.Errorf("asked for %s", asked["inventory"])
	}
	for _, typed := range []string{"tag list --sort siez", "device list --sort siez", "device list --columns siez",
		"folder get x --sort siez"} {
		code, _, errs := run(t, append(strings.Fields(typed), "--server", address, "--token", "x")...)
		if code != exitUsage || !strings.Contains(errs, "siez") || strings.Count(errs, "\n") != 2 {
			t.Errorf("%s: got %d, %s", typed, code, errs)
		}
	}
}

func TestDevicesAreListedWithTheColumnsThatAPersonNames(t *testing.T) {
	address, _ := serving(t, map[string]any{"inventory": api.Inventory{Total: 1, Matched: 1,
		Devices: []api.InventoryDevice{{DeviceID: idNAS, Label: "nas", Version: "v2.1.3", Address: "192.0.2.7:8384",
			FoundBy: "record"}}}})
	code, out, errs := run(t, "device", "list", "--columns", "device,version,address,id", "--server", address,
		"--token", "x")
	want := "DEVICE         VERSION  ADDRESS                  ID\nnas (P56IOI7)  v2.1.3   192.0.2.7:8384 (record)  " +
		idNAS + "\n1 device.\n"
	if code != exitDone || out != want {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	if _, out, _ := run(t, "device", "list", "--columns=all", "--server", address, "--token", "x"); !strings.Contains(out,
		"LAST SEEN") || !strings.Contains(out, "WAITS") {
		t.Errorf("got %s", out)
	}
}

// A label with a blank became two words in $(muster device list -o name).
func TestNamesForOtherCommandsAreOneWord(t *testing.T) {
	templates := []api.Template{{ID: 1, Label: "Team"}, {ID: 2, Label: "the team"}, {ID: 3, Label: "twin"},
		{ID: 4, Label: "twin"}, {ID: 5}, {ID: 6, Label: "a*"}, {ID: 7, Label: `it's`}}
	address, _ := serving(t, map[string]any{"templates": templates,
		"devices": []api.Device{{DeviceID: idNAS, Label: "the nas"}, {DeviceID: idLaptop, Label: "laptop"}},
		"inventory": api.Inventory{Devices: []api.InventoryDevice{{DeviceID: idNAS, Label: "the nas"},
			{DeviceID: idLaptop, Label: "laptop"}}}})
	for typed, want := range map[string]string{
		"template list": "Team\n2\n3\n4\n5\n6\n7\n",
		"device list":   idNAS + "\nlaptop\n",
	} {
		_, out, errs := run(t, append(strings.Fields(typed), "-o", "name", "--server", address, "--token", "x")...)
		if out != want {
			t.Errorf("%s: got %q%s, want %q", typed, out, errs, want)
		}
	}
}
