package form

import (
	"fmt"
	"strconv"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// everyFolder is a folder field that may stay blank.
var everyFolder = Field{Name: "folder", Label: "Folder", Type: FolderField, Help: "Its ID. Blank: every folder."}

const secondsPerDay = 24 * 60 * 60

var versioningKind = Kind{Name: "versioning", Title: "Keep earlier versions",
	Help: "What becomes of a file that another device changes or deletes.",
	Fields: []Field{tagsField, everyFolder,
		{Name: "type", Label: "How", Type: ChoiceField, Required: true, Default: "trashcan",
			Choices: []Choice{{"trashcan", "Trash can: the last version of each file"},
				{"simple", "Simple: a number of versions of each file"},
				{"staggered", "Staggered: many new versions, few old ones"},
				{"external", "External: a command decides"}, {"none", "No versions"}}},
		{Name: "keep", Label: "Versions of each file", Type: NumberField, Required: true, Default: "5", Least: 1, Most: 1000,
			OnlyIf: &Condition{"type", []string{"simple"}}},
		{Name: "days", Label: "Delete after days", Type: NumberField, Required: true, Default: "30", Most: 36500,
			Help: "0 keeps them for ever.", OnlyIf: &Condition{"type", []string{"trashcan", "simple"}}},
		{Name: "age", Label: "Keep at most days", Type: NumberField, Required: true, Default: "365", Most: 36500,
			Help: "0 keeps them for ever.", OnlyIf: &Condition{"type", []string{"staggered"}}},
		{Name: "command", Label: "Command", Type: TextField, Required: true,
			Example: "/usr/local/bin/keep %FOLDER_PATH% %FILE_PATH%",
			Help:    "Each device runs it for a file that goes. An admin consents before it goes out.",
			OnlyIf:  &Condition{"type", []string{"external"}}},
	},
	write: func(v Values) (Written, error) {
		kind, params := v.one("type"), []member{}
		switch kind {
		case "none":
			kind = ""
		case "simple":
			params = []member{{"keep", asJSON(v.one("keep"))}, {"cleanoutDays", asJSON(v.one("days"))}}
		case "trashcan":
			params = []member{{"cleanoutDays", asJSON(v.one("days"))}}
		case "staggered":
			days, err := strconv.ParseInt(v.one("age"), 10, 64)
			if err != nil {
				return Written{}, fleet.Invalidf("age", "it is a whole number of days")
			}
			params = []member{{"maxAge", asJSON(strconv.FormatInt(days*secondsPerDay, 10))}}
		case "external":
			params = []member{{"command", asJSON(v.one("command"))}}
		}
		members := []member{{"type", asJSON(kind)}}
		if len(params) > 0 {
			members = append(members, member{"params", object(params...)})
		}
		return Written{Op: fleet.OpMerge, Key: folderKey(v.one("folder")).Child("versioning").String(),
			Text: object(members...) + "\n"}, nil
	},
}

var ignores = Kind{Name: "ignores", Title: "Ignore files",
	Help: "Patterns of files that devices neither send nor receive in a folder.",
	Fields: []Field{tagsField,
		{Name: "folder", Label: "Folder", Type: FolderField, Required: true, Help: "Its ID.", Example: "photos"},
		{Name: "patterns", Label: "Patterns, one on each line", Type: LinesField, Required: true, Example: "(?d).DS_Store",
			Help: "As in .stignore. (?d) lets a directory be deleted that has nothing else in it."},
		{Name: "how", Label: "Patterns of the devices", Type: ChoiceField, Required: true, Default: "add",
			Choices: []Choice{{"add", "Stay: these are added"}, {"replace", "Go: these replace them"}}},
	},
	write: func(v Values) (Written, error) {
		op := fleet.OpAppend
		if v.one("how") == "replace" {
			op = fleet.OpSet
		}
		return Written{Op: op, Key: stconfig.Key{}.Child("ignores").Child(v.one("folder")).String(),
			Text: list(v["patterns"]) + "\n"}, nil
	},
}

var rescan = Kind{Name: "rescan", Title: "Scan at different times",
	Help: "Devices scan folders at an interval, and not all of them at the same time.",
	Fields: []Field{tagsField, everyFolder,
		{Name: "minutes", Label: "Minutes between two scans", Type: NumberField, Required: true, Default: "60", Least: 1,
			Most: 525600, Help: "Each device adds up to a sixth of it, always the same part."},
	},
	write: func(v Values) (Written, error) {
		minutes, err := strconv.ParseInt(v.one("minutes"), 10, 64)
		if err != nil {
			return Written{}, fleet.Invalidf("minutes", "it is a whole number of minutes")
		}
		return Written{Op: fleet.OpSet, Key: folderKey(v.one("folder")).Child("rescanIntervalS").String(),
			Text: fmt.Sprintf("def template(device):\n    return %d + hash(device.deviceID) %% %d\n", minutes*60,
				minutes*10)}, nil
	},
}
