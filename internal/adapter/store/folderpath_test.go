package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A folder that was taken away left its files, and what a symbolic link among them leads to was an author's to share.
func TestWhereFoldersWereIsNotForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, other := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		for digest, document := range map[string]string{
			"two":  `{"folders": [{"id": "a", "path": "~/a"}, {"id": "b", "path": "/srv/b"}]}`,
			"one":  `{"folders": [{"id": "a", "path": "~/moved"}]}`,
			"none": `{"folders": []}`,
		} {
			o := fullObservation(d.ID, digest)
			o.Config.JSON, o.Config.Digest = []byte(document), digest
			observe(t, s, o)
		}
		if got, want := must(s.FolderPaths(t.Context(), d.ID))(t),
			[]string{"/srv/b", "~/a", "~/moved"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := must(s.FolderPaths(t.Context(), other.ID))(t); len(got) != 0 {
			t.Errorf("another device: got %q", got)
		}
	})
}

func TestADaemonWithEndlessFoldersFillsNoTable(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		var document strings.Builder
		document.WriteString(`{"folders": [{"id": "first", "path": "~/first"}`)
		for n := range maxFolderPaths + 1 {
			fmt.Fprintf(&document, `, {"id": "%d", "path": "~/%d"}`, n, n)
		}
		document.WriteString(`]}`)
		o := fullObservation(d.ID, "many")
		o.Config.JSON, o.Config.Digest = []byte(document.String()), "many"
		observe(t, s, o)
		if got, err := s.FolderPaths(t.Context(), d.ID); fleet.CodeOf(err) != fleet.CodeTooLarge {
			t.Errorf("got %d paths, %v", len(got), err)
		}
		var kept int
		if err := s.reads.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM folder_paths`).Scan(&kept); err != nil ||
			kept != maxFolderPaths {
			t.Errorf("got %d rows, %v; want %d", kept, err, maxFolderPaths)
		}
	})
}
