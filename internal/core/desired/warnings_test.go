package desired

import (
	"slices"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// A template that names a field of a newer Syncthing is warned of, unless a daemon of the fleet has the field.
func TestAFieldThatADaemonOfTheFleetHasIsNoMistake(t *testing.T) {
	key, err := stconfig.ParseKey("options.brandNew")
	if err != nil {
		t.Fatal(err)
	}
	made := template.Result{Value: stconfig.Text("x"), Language: template.HJSON}
	one := fleet.Template{Op: fleet.OpSet, Key: "options.brandNew"}
	for has, want := range map[bool]int{false: 1, true: 0} {
		var asked []string
		got := Warnings(one, key, made, func(key stconfig.Key) bool {
			asked = append(asked, key.String())
			return has
		})
		if len(got) != want || !slices.Equal(asked, []string{"options.brandNew"}) {
			t.Errorf("with a daemon that has it (%v): got %q, asked for %q", has, got, asked)
		}
	}
}
