package desired

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// WithIgnores returns the document with a section `ignores` that holds the ignore patterns of its folders. patterns
// has them by folder ID; folders that are not in it are not in the section, either. Without any patterns the document
// has no such section.
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

// IgnoresIn returns the folders whose ignore patterns have an ownership entry.
func IgnoresIn(entries []fleet.BaseEntry) (folders []string) {
	for _, entry := range entries {
		key, err := stconfig.ParseKey(entry.Key)
		if folder, ok := ignoresOf(key); err == nil && ok && key.Len() == 2 {
			folders = append(folders, folder)
		}
	}
	return folders
}

// nameIgnores records the folders whose ignore patterns a template names. every is true if the template's key names
// those of every folder (`ignores.*`); everyIgnores handles such a template later.
func (f *fold) nameIgnores(key stconfig.Key, value stconfig.Value) (every bool) {
	if folder, ok := ignoresOf(key); ok {
		if key.At(1).Every {
			return true
		}
		f.ignores[folder] = true
		return false
	}
	switch {
	case key.IsRoot():
		value = value.Get("ignores")
	case key.Len() != 1 || key.At(0).Name != "ignores":
		return false
	}
	for folder := range value.Members() {
		f.ignores[folder] = true
	}
	return false
}

// everyIgnores handles templates for the ignore patterns of every folder. It reports the folders that have no patterns
// in the document: those that could not be read, and those that templates are about to make.
func (f *fold) everyIgnores() {
	for _, template := range f.every {
		for folder := range f.doc.Get("folders").Values() {
			id := folder.Get("id").Str()
			f.ignores[id] = true
			if key := ignores.Child(id); !stconfig.Lookup(f.doc, key).Exists() {
				f.skipped = append(f.skipped, Skipped{Template: template, Key: key,
					Reason: f.reason(stconfig.Skip{Key: key}, f.doc)})
			}
		}
	}
}

// ignoresOf returns the folder of a key at or below `ignores.<folder>`.
func ignoresOf(key stconfig.Key) (folder string, ok bool) {
	if key.Len() < 2 || key.At(0).Name != "ignores" {
		return "", false
	}
	return key.At(1).Name, true
}

// reason returns, as a sentence for a person, why a place was skipped. For ignore patterns that the observed document
// lacks it says what is missing; otherwise it is the reason of stconfig. after is the document after the template.
func (f *fold) reason(s stconfig.Skip, after stconfig.Value) string {
	folder, ok := ignoresOf(s.Key)
	if !ok || f.Observed.Get("ignores").Get(folder).Exists() {
		return s.Reason
	}
	switch {
	case folderOf(f.Observed, folder).Exists():
		text := fmt.Sprintf("the ignore patterns of folder %q could not be read from the daemon", folder)
		if why := f.Unread[folder]; why != "" {
			text += ": " + why
		}
		return text
	case folderOf(after, folder).Exists():
		return fmt.Sprintf("folder %q has to be there first", folder)
	}
	return fmt.Sprintf("the device has no folder %q", folder)
}

func folderOf(doc stconfig.Value, id string) stconfig.Value {
	return stconfig.Lookup(doc, folders.Child(id))
}

// readable returns an error for ignore patterns that the daemon cannot read, because they would stop the folder. A
// template that reads the configuration may repeat unreadable lines that a folder of the daemon already has.
func (f *fold) readable(op fleet.Op, key stconfig.Key, fragment Fragment) error {
	if op == fleet.OpRemove {
		return nil
	}
	for _, lines := range stconfig.IgnoreLinesIn(key, fragment.Value) {
		if fragment.ReadsConfig {
			lines = slices.DeleteFunc(lines, f.hasIgnoreLine)
		}
		if at, why := stconfig.CheckIgnores(lines, f.OS); at >= 0 {
			return UnreadablePattern(lines[at], why)
		}
	}
	return nil
}

// hasIgnoreLine reports whether some folder of the daemon has this line now.
func (f *fold) hasIgnoreLine(line string) bool {
	for _, folder := range f.Observed.Get("ignores").Members() {
		if slices.Contains(slices.Collect(folder.Values()), stconfig.Text(line)) {
			return true
		}
	}
	return false
}

// UnreadablePattern returns the error about an ignore pattern that the daemon cannot read.
func UnreadablePattern(pattern, why string) *fleet.Error {
	const enough = 80
	if len(pattern) > enough {
		pattern = strings.ToValidUTF8(pattern[:enough], "") + "…"
	}
	return &fleet.Error{
		Code:    fleet.CodeInvalid,
		Message: fmt.Sprintf("the daemon cannot read the ignore pattern %q, and stops the folder: %s", pattern, why),
		Hint:    `Correct the pattern. A character that means something else is written with \ before it, as in \[.`,
	}
}
