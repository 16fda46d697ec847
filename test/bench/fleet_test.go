package bench

import (
	"fmt"
	"testing"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/fleet"
)

const allTag = "all"

// seedHome is a home in which every daemon of the farm is registered and tagged, and nothing else is known of it. One
// template, which every daemon already follows, applies to all.
func seedHome(b testing.TB, daemons []place) string {
	b.Helper()
	home := b.TempDir()
	key, err := seal.Make(home)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{Home: home, Seal: key})
	if err != nil {
		b.Fatal(err)
	}
	edit := fleet.Edit{New: []fleet.TaggedTemplate{{Tags: []fleet.Tag{allTag}, Template: fleet.Template{
		Label: "no reports", Op: fleet.OpSet, Key: "options.urAccepted", Text: "-1\n",
		Reads: fleet.Inputs{Known: true}}}}} // what a check of the text finds: it reads nothing
	for i, d := range daemons {
		edit.Put = append(edit.Put, fleet.DevicePut{Device: fleet.Device{ID: d.ID, Label: fmt.Sprintf("device %d", i),
			APIKey: fleet.NewSecret(d.Key), APIAddress: d.Host, APIPort: d.Port}})
		edit.Tag = append(edit.Tag, fleet.Tagging{Tag: allTag, Device: d.ID})
	}
	if _, err := s.ApplyEdit(b.Context(), edit, fleet.Basis{}); err != nil {
		b.Fatal(err)
	}
	registry, err := s.Registry(b.Context())
	if err == nil { // else the template would be rolled out
		_, err = s.PutRollouts(b.Context(), fleet.RolloutWrite{Settled: registry})
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return home
}
