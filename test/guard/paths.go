package guard

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

// Reach says who may have a template put something at a path without consent.
type Reach int

const (
	Anybodys Reach = iota // below the home directory, in no directory of programs
	Outside               // only where admins ask, or a folder root leads there
	Nobodys               // whoever asks
)

// Path is one spelling of a directory on one system.
type Path struct {
	Text     string
	Reach    Reach
	InSync   bool // below the default folder root, so that it is anybody's with this root, too
	InRoot   bool // below the second root of its system
	InFolder bool // is the scene's folder, or lies in it
	Relative bool // as the directory of old versions it lies in the folder
}

// SecondRoots is a folder root beside the home directory, by system.
var SecondRoots = map[stsim.System]string{stsim.Linux: "/srv/sync", stsim.Windows: `D:\Data`,
	stsim.MacOS: "/Volumes/Data"}

// Paths are by system; the home directories are those of simulated daemons. The scene's folder is at ~/photos.
var Paths = map[stsim.System][]Path{
	stsim.Linux: slices.Concat(
		paths(Anybodys, "~/photos2", "~/photos2/", "~//photos2", "~/./photos2", "/home/syncthing/photos2",
			"/home//syncthing/./photos2",
			"//home/syncthing/photos2", "~/Photos 2", "~/größe", "~/日本", "~/a.b", "~/a..b", "~/binder/x", "~/x/Libraries",
			"~/x/go", "~/x/snap", "~/Syncing/x"),
		paths(Outside, "/srv", "/srv/x", "/srv/syncing", "/SRV/sync/x", "/mnt/data", "/home/syncthing2/x", "/home/other",
			"~/bin", "~/BIN/x", "~/Library/x", "~/AppData/x", "~/ProgramData",
			"/opt/bin",
			"~/snap/x", "~/go/bin", "~/Applications", "~/Sync/bin", "~/x/node_modules", "~/Templates",
			"/srv/"),
		inSync("~/Sync", "~/Sync/x", "~/Sync/go", "~//Sync/./x/", "/home/syncthing/Sync/x"),
		inFolder("~/photos", "~/photos/inner", "~//photos/./inner", "/home/syncthing/photos/inner",
			"/home/syncthing/photos"),
		inRoot("/srv/sync", "/srv/sync/", "/srv/sync/x", "/srv//sync/./x", "//srv/sync/x"),
		paths(Nobodys, "~/../other/x", "~/sub/../photos2", "/srv/sync/../sync/x",
			"~/.ssh", "~/.ssh/", "~//.ssh", "~/./.ssh", "~/x/../.ssh", "~/x/.y/z", "/home/syncthing/.ssh",
			"/home/./syncthing//.ssh",
			"/home/x/../syncthing/.ssh", "~/.ssh ", "~/.config/syncthing", "~/.local/state/syncthing/index-v2", "~/config",
			"~/index-v0.14.0.db",
			"/", "//", "/.", "/..", "/etc", "/etc/", "//etc", "/etc/cron.d", "/ETC/cron.d", "/etc.", "/etc ", "/usr/local/bin",
			"/proc/self/root/srv", "/dev/shm", "/sys", "/boot", "/home", "/home/", "/home/syncthing", "/home/syncthing/",
			"/HOME/syncthing",
			"/home/x/..", "/root/x", "/var", "/var/lib/syncthing", "/var/lib/docker", "/var/run/x", "/lib64/x", "/run/x",
			"/config/x",
			"~", "~/", "~/.", "~/x/..", "~bob/photos", "~photos", "$HOME/x", "/srv/$USER", "/srv/${USER}", "/srv/%USER%/x",
			`~\.ssh`,
			`/srv\x`, "/srv/a\u200bb", "~/\u2024ssh", "~/a\u00a0b", "~/\uff0essh", "~/ss\u00adh", "/srv/a\nb",
			"/srv/a\u202eb", `C:\x`),
		relative("photos2", "./photos2", "../photos2", ".ssh", "photos2/.."),
	),
	stsim.Windows: slices.Concat(
		paths(Anybodys, `~\photos2`, `~/photos2`, `~\\photos2`, `~\/photos2`, `~\.\photos2`, `C:\Users\syncthing\photos2`,
			`C:/Users/syncthing/photos2`, `~\a b`, `~\größe`,
			`~\OneDrive\x`, `~\Pictures`),
		paths(Outside, `D:\Database\x`, `D:\x`, `E:\Data\x`, `C:\Users\other\x`, `C:\Users\syncthing2\x`,
			`C:\Users\Public\x`,
			`~\AppData\Roaming\x`, `~\appdata\Local\x`, `~\bin\x`,
			`~\Local Settings\x`, `~\Application Data\x`, `~\APPLICATION DATA\x`,
			`~\Start Menu\Programs\Startup`, `~\SendTo`,
			`~\Documents\PowerShell`, `~\Documents\WindowsPowerShell\x`, `~\Documents`, `~\My Documents\x`,
			`~\OneDrive\Documents`, `~\OneDrive - Company\Documents\PowerShell`, `~\OneDrive`,
			`~\Documents\My Music`, `~\go\bin`, `~\scoop\shims`, `~\Templates`, `D:\Startup\x`),
		inSync(`~\Sync`, `~\sync\x`, `~/Sync/x`, `C:\Users\syncthing\Sync\x`),
		inFolder(`~\photos\inner`, `~\PHOTOS\inner`, `c:\users\SYNCTHING\photos`),
		inRoot(`D:\Data\x`, `d:\data\X`, `D:/Data/x`, `D:\\Data\\x`, `D:\Data`),
		paths(Nobodys, `D:\AppData.\x`, `~\photos.\inner`, `~\x \y`, `~\CON`, `~\nul.txt`, `~\a\Com1`,
			`~\LPT¹.x`, `~\CON .x`,
			`~\..\other\x`, `~\sub\..\photos2`, `D:\Data\..\Data\x`,
			`~\.ssh`, `~/.ssh`, `~\\.ssh`, `~\x\..\.ssh`, `~\x/..\.ssh`, `C:\Users\syncthing\.ssh`,
			`c:\users\SYNCTHING\.ssh`,
			`~\AppData\Local\Syncthing`, `~/appdata/local/SYNCTHING/x`, `~\AppData\Local\Syncthing.`,
			`~\AppData\Local \Syncthing`,
			`~\AppData\Local`, `~\config`, `C:\Windows`, `c:\windows\System32`, `C:/Windows/System32`, `C:\Windows.\x`,
			`C:\Windows \x`,
			`D:\Windows\x`, `C:\`, `C:/`, `C:\.`, `C:\..`, `D:\`, `C:\Users`, `C:\Users\syncthing`, `C:\Users\syncthing\`,
			`C:\Users\Syncthing.`,
			`C:\Program Files\x`, `C:\ProgramData\Syncthing`, `\\server\share`, `//server/share`, `\/server\share`,
			`\\?\C:\x`, `\\.\C:\x`,
			`\\?\UNC\server\x`, `\\localhost\c$\x`, `\x`, `/x`, `C:x`, `C:`, `~user\x`, `~user`, `C:\PROGRA~1\x`,
			`C:\Users\SYNCTH~1\x`,
			`D:\Data\x:stream`, `D:\Data\.ssh::$INDEX_ALLOCATION`, `D:\Data:x`, `%USERPROFILE%\.ssh`, `D:\%x%\y`,
			`D:\Data\...\x`, `D:\Data\ \x`,
			`~`, `~\`, `~/`, `~\x\..`, `D:\$Recycle.Bin\x`, "D:\\a\u200bb", "~\\\uff0essh", `1:\x`),
		relative(`photos2`, `.\photos2`, `..\photos2`),
	),
	stsim.MacOS: slices.Concat(
		paths(Anybodys, "~/photos2", "~/Photos2", "/users/SYNCTHING/photos2", "/Users/syncthing/photos2", "~/büro"),
		inSync("~/Sync/x", "~/SYNC/x"),
		paths(Outside, "~/Applications", "~/Applications/x", "~/go/bin", "~/snap/x",
			"~/Library/Mail", "~/LIBRARY/x", "~/bin/x", "/Volumes/Database", "/Users/Shared/x",
			"/Users/syncthing2/x"),
		inFolder("~/PHOTOS/inner", "/users/syncthing/photos"),
		inRoot("/Volumes/Data/x", "/volumes/DATA/x"),
		paths(Nobodys, "~/.ssh", "~/.SSH", "/Users/Syncthing/.ssh", "/users/syncthing/.ssh",
			"~/Library/Application Support/Syncthing",
			"~/library/application support/SYNCTHING/x", "~/Library/Application Support", "/Library/x", "/library/x",
			"/System/x",
			"/Applications/x", "/private/etc/x", "/etc/x", "/Users", "/users/SYNCTHING", "~/bu\u0308ro", "~/\uff2cibrary/x",
			"~/.s\u200csh",
			"~/L\u0131brary\u200d/x"),
	),
}

func paths(reach Reach, texts ...string) []Path {
	all := make([]Path, len(texts))
	for i, text := range texts {
		all[i] = Path{Text: text, Reach: reach}
	}
	return all
}

func inRoot(texts ...string) []Path {
	all := paths(Outside, texts...)
	for i := range all {
		all[i].InRoot = true
	}
	return all
}

func inSync(texts ...string) []Path {
	all := paths(Anybodys, texts...)
	for i := range all {
		all[i].InSync = true
	}
	return all
}

func inFolder(texts ...string) []Path {
	all := paths(Outside, texts...)
	for i := range all {
		all[i].InFolder = true
	}
	return all
}

func relative(texts ...string) []Path {
	all := paths(Nobodys, texts...)
	for i := range all {
		all[i].Relative = true
	}
	return all
}

// Form is one way to have a daemon put data somewhere: an op at a key, with the path in it.
type Form struct {
	Name     string
	Op       fleet.Op
	Key      string
	Text     string // <path> stands for the path as JSON
	At       string // key of the change that is judged
	Versions bool   // the path is that of old versions
	Changes  bool   // of a folder that is there: held whoever asks
	Starlark bool
}

// Forms are the ops and keys that take a path.
var Forms = []Form{
	{Name: "a new folder", Op: fleet.OpMerge, Key: "folders.case", Text: `{"path": <path>}`, At: "folders.case"},
	{Name: "a new folder by a program", Op: fleet.OpMerge, Key: "folders.case", Text: `{"path": <path>}`,
		At: "folders.case", Starlark: true},
	{Name: "a new folder, set", Op: fleet.OpSet, Key: "folders.case", Text: `{"path": <path>}`, At: "folders.case"},
	{Name: "appended to the list", Op: fleet.OpAppend, Key: "folders", Text: `[{"id": "case", "path": <path>}]`,
		At: "folders.case"},
	{Name: "merged into the list", Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "case", "path": <path>}]`,
		At: "folders.case"},
	{Name: "the list, set", Op: fleet.OpSet, Key: "folders", Text: `[{"id": "case", "path": <path>}]`,
		At: "folders.case"},
	{Name: "in other letters", Op: fleet.OpMerge, Key: "FOLDERS", Text: `[{"ID": "case", "PATH": <path>}]`,
		At: "folders.case"},
	{Name: "at the root", Op: fleet.OpMerge, Text: `{"folders": [{"id": "case", "path": <path>}]}`, At: "folders.case"},
	{Name: "another path", Op: fleet.OpSet, Key: "folders." + Folder + ".path", Text: `<path>`,
		At: "folders." + Folder + ".path", Changes: true},
	{Name: "another path of every folder", Op: fleet.OpSet, Key: "folders.*.path", Text: `<path>`,
		At: "folders." + Folder + ".path", Changes: true},
	{Name: "old versions of a new folder", Op: fleet.OpMerge, Key: "folders.case", At: "folders.case", Versions: true,
		Text: `{"path": "~/case", "versioning": {"type": "simple", "fsPath": <path>}}`},
	{Name: "old versions, as it was written once", Op: fleet.OpMerge, Key: "folders.case", At: "folders.case",
		Versions: true,
		Text:     `{"path": "~/case", "versioning": {"type": "simple", "params": {"versionsPath": <path>}}}`},
	{Name: "old versions of a folder", Op: fleet.OpMerge, Key: "folders." + Folder + ".versioning",
		Text: `{"type": "simple", "fsPath": <path>}`, At: "folders." + Folder + ".versioning.fsPath", Versions: true},
	{Name: "every new folder", Op: fleet.OpSet, Key: "defaults.folder.path", Text: `<path>`, At: "defaults.folder.path"},
	{Name: "every new folder, merged", Op: fleet.OpMerge, Key: "Defaults", Text: `{"Folder": {"Path": <path>}}`,
		At: "defaults.folder.path"},
	{Name: "old versions of every new folder", Op: fleet.OpMerge, Key: "defaults.folder.versioning",
		Text: `{"type": "simple", "fsPath": <path>}`, At: "defaults.folder.versioning.fsPath", Versions: true},
}

// Takes tells whether a form can say a path: not that a folder moves into itself, nor what means something else there.
func (f Form) Takes(p Path) bool {
	own := strings.HasPrefix(f.At, "folders."+Folder) || f.Key == "folders.*.path"
	return !(f.Versions && p.Relative) && !(own && p.InFolder)
}

// Template is the template's body.
func (f Form) Template(p Path) string {
	quoted := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(p.Text)
	json := strings.ReplaceAll(f.Text, "<path>", `"`+quoted+`"`)
	if !f.Starlark {
		return json
	}
	return fmt.Sprintf("def template():\n    return json.decode('''%s''')\n", strings.ReplaceAll(json, `\`, `\\`))
}

// Free tells whether the change is sent without a question, with these folder roots.
func (f Form) Free(p Path, admin bool, roots []string) bool {
	hasSecond := slices.ContainsFunc(roots, func(root string) bool {
		return root != "~" && root != fleet.DefaultFolderRoot
	})
	switch {
	case f.Changes || p.Reach == Nobodys:
		return false
	case admin:
		return true
	case f.Versions || strings.EqualFold(f.At, "defaults.folder.path"):
		return false
	case p.Reach == Anybodys:
		return slices.Contains(roots, "~") || p.InSync && slices.Contains(roots, fleet.DefaultFolderRoot)
	}
	return p.InRoot && hasSecond
}
