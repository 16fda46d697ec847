package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// WithIgnores is the document with the ignore patterns that were read, by folder, as the section `ignores`.
func WithIgnores(doc stconfig.Value, patterns map[string][]string) stconfig.Value {
	if len(patterns) == 0 {
		return doc
	}
	var section []stconfig.Member
	for folder := range doc.Get("folders").Values() {
		id := folder.Get("id").Str()
		lines, read := patterns[id]
		if !read {
			continue
		}
		list := make([]stconfig.Value, len(lines))
		for i, line := range lines {
			list[i] = stconfig.Text(line)
		}
		section = append(section, stconfig.Member{Name: id, Value: stconfig.List(list...)})
	}
	return doc.With("ignores", stconfig.Obj(section...))
}

// IgnoresIn are the folders whose ignore patterns have entries.
func IgnoresIn(entries []fleet.BaseEntry) (folders []string) {
	for _, entry := range entries {
		key, err := stconfig.ParseKey(entry.Key)
		if folder, ok := ignoresOf(key); err == nil && ok && key.Len() == 2 {
			folders = append(folders, folder)
		}
	}
	return folders
}
