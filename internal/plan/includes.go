package plan

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// whyIncludes says why ignore patterns may not include a file: the daemon follows symbolic links, which other devices
// may have sent, and `..` out of the folder, and quotes what it cannot read as a pattern in the folder's error
// (1.19.2).
func whyIncludes(g guard, p place) string {
	admins := stconfig.Lookup(g.admins(), keyOf(p.names))
	for _, file := range includedFiles(p.to) {
		switch {
		case slices.Contains(includedFiles(p.from), file):
		case slices.Contains(strings.FieldsFunc(file, isAnySeparator), ".."):
			return fmt.Sprintf("it includes the file %q, which leads upwards with ..", file)
		case !slices.Contains(includedFiles(admins), file):
			return fmt.Sprintf("it includes the file %q: a symbolic link that another device sent may lead anywhere, and the "+
				"folder's error quotes what is no pattern", file) + g.unlessAdmins(p)
		}
	}
	return ""
}

func includedFiles(lines stconfig.Value) (files []string) {
	for line := range lines.Values() {
		if file, is := stconfig.IncludedFile(line.Str()); is {
			files = append(files, file)
		}
	}
	return files
}

func isAnySeparator(r rune) bool { return r == '/' || r == '\\' }
