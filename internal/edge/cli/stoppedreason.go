package cli

import (
	"slices"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// readReasons is the number of rows whose reasons are read. Each needs a request.
const readReasons = 100

// stoppedReasons returns a function that gives the reasons of the stopped folders of a row, for the first rows. name
// is what a reason is of; nil: the row says it.
func stoppedReasons[T any](read func(T) ([]api.FolderStanding, error),
	name func(api.FolderStanding) string) func(T) string {
	left := readReasons
	return func(t T) string {
		if left--; left < 0 {
			return "not read"
		}
		standings, err := read(t)
		if err != nil {
			return "not known: " + printable(fleet.Reason(err))
		}
		var found []string
		for _, f := range standings {
			if f.State != fleet.FolderStopped.String() {
				continue
			}
			text := strings.TrimPrefix(f.Reason, "the daemon stopped the folder: ")
			if name != nil {
				text = name(f) + ": " + text
			}
			if !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		return orDash(strings.Join(found, "; "))
	}
}
