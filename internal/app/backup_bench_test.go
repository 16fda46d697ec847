package app

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// BenchmarkBackup is what a backup costs of a home with 3,000 devices and templates: how long it takes follows from
// that, and from what else the machine does.
func BenchmarkBackup(b *testing.B) {
	home := b.TempDir()
	keys, err := seal.Make(home)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{Home: home, Seal: keys})
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	const writers, each = 60, 50
	for w := range writers {
		all.Go(func() {
			for n := range each {
				number := w*each + n
				d := fleet.Device{ID: fleet.DeviceIDOf([32]byte{byte(number), byte(number >> 8)}), Label: fmt.Sprint(number),
					APIKey: fleet.NewSecret("key"), APIAddress: "127.0.0.1", APIPort: 8384}
				template := fleet.Template{Label: d.Label, Op: fleet.OpSet, Key: "options.natEnabled",
					Text: "# " + strings.Repeat(d.Label, 200) + "\ntrue"}
				edit := fleet.Edit{Put: []fleet.DevicePut{{Device: d}}, New: []fleet.TaggedTemplate{{Template: template}}}
				if _, err := s.ApplyEdit(b.Context(), edit, fleet.Basis{}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	lock, err := backup.NewLock(nil, fleet.NewSecret("correct horse battery staple"))
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; b.Loop(); n++ {
		made, err := BackUp(b.Context(), Options{Home: home}, filepath.Join(b.TempDir(), fmt.Sprint(n)), lock)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(made.Bytes)
	}
}
