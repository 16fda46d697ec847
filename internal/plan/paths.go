package plan

import (
	"path"
	"strings"

	"muster/internal/stconfig"
)

// What the guard knows about paths on the daemon's machine, by their text: `~` is the home directory there, and what
// begins with neither `~` nor `/` lies below some other directory.

func folderWithoutPath(_ guard, p place) bool {
	return !p.removed() && isHome(p.to.Get("path"))
}

func sharesHome(_ guard, p place) bool { return !p.within && isHome(p.to) }

// isHome tells a path that is missing, or that is the home directory, the daemon's own, or one above these.
func isHome(at stconfig.Value) bool {
	if at.Kind() != stconfig.String {
		return true
	}
	clean := cleaned(at.Str())
	return clean == "~" || above(clean)
}

// keepsVersionsAmongFiles tells whether a folder's old versions would lie where other files do: in the folder itself, in
// one around it, or in the home directory. The cleaning of versions deletes whatever is old enough there
// (lib/versioner of Syncthing 1.12 to 2.1).
func keepsVersionsAmongFiles(g guard, p place) bool {
	key := folders.Child(p.names[1])
	was, is := stconfig.Lookup(g.observed, key), stconfig.Lookup(p.after, key)
	versioning := is.Get("versioning")
	params := versioning.Get("params")
	if versioning.Get("type").Str() == "" {
		return false
	}
	for _, at := range []stconfig.Value{versioning.Get("fsPath"), params.Get("fsPath"), params.Get("versionsPath")} {
		if directory := cleaned(at.Str()); strings.TrimSpace(at.Str()) != "" && (above(directory) ||
			around(directory, cleaned(is.Get("path").Str())) || around(directory, cleaned(was.Get("path").Str()))) {
			return true
		}
	}
	return false
}

// around tells whether a directory is the folder or one above it, or the home directory.
func around(directory, folder string) bool {
	return directory == "~" || directory == "/" || folder == directory || strings.HasPrefix(folder, directory+"/")
}

// above tells a relative path that leads to where it starts from, or out of there.
func above(clean string) bool {
	return clean == "." || clean == ".." || strings.HasPrefix(clean, "../")
}

func cleaned(text string) string {
	return path.Clean(strings.ReplaceAll(strings.TrimSpace(text), `\`, "/"))
}
