package bench

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
	"muster/internal/seal"
	"muster/internal/store"
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
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(64)
	for i, d := range daemons {
		group.Go(func() error {
			_, _, err := s.PutDevice(ctx, fleet.Device{
				ID: d.ID, Label: fmt.Sprintf("device %d", i), APIKey: fleet.NewSecret(d.Key), APIAddress: d.Host, APIPort: d.Port,
			}, nil)
			if err == nil {
				_, err = s.TagDevice(ctx, d.ID, allTag, nil)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	made, err := s.CreateTemplate(b.Context(), fleet.Template{Label: "no reports", Op: fleet.OpSet,
		Key: "options.urAccepted", Text: "-1\n"})
	if err == nil {
		_, err = s.TagTemplate(b.Context(), made.ID, allTag, nil)
	}
	if err != nil {
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
