package plan

import (
	"slices"

	"muster/internal/stconfig"
)

// wholeShares gives every entry of every folder's share list all the fields that such entries have in the document as
// read, blank where it has none. A PATCH with a list decodes each member over the old one at the same place: a bare
// {deviceID} would inherit the encryption password of the device that was there before (seen on 1.19.2).
func wholeShares(after, fresh stconfig.Value) stconfig.Value {
	names := shareFields(fresh)
	list := after.Get("folders")
	if list.Kind() != stconfig.Array || len(names) == 0 {
		return after
	}
	whole := make([]stconfig.Value, 0, list.Len())
	for folder := range list.Values() {
		whole = append(whole, wholeShare(folder, names))
	}
	return after.With("folders", stconfig.List(whole...))
}

func wholeShare(folder stconfig.Value, names []string) stconfig.Value {
	shares := folder.Get("devices")
	if shares.Kind() != stconfig.Array {
		return folder
	}
	entries := make([]stconfig.Value, 0, shares.Len())
	for entry := range shares.Values() {
		for _, name := range names {
			if entry.Kind() == stconfig.Object && !entry.Get(name).Exists() {
				entry = entry.With(name, stconfig.Text(""))
			}
		}
		entries = append(entries, entry)
	}
	return folder.With("devices", stconfig.List(entries...))
}

// shareFields are the text fields that share entries have in a document: which ones depends on the daemon's version.
func shareFields(doc stconfig.Value) []string {
	var names []string
	for folder := range doc.Get("folders").Values() {
		for entry := range folder.Get("devices").Values() {
			for name, value := range entry.Members() {
				if value.Kind() == stconfig.String && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
