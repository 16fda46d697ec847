package form

import (
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Share is a folder that the devices with certain tags share.
type Share struct {
	Folder string // ID
	Label  string
	// Paths are the directories by operating system ("windows"), and under "" that of every other system. {name} in a
	// path is replaced by the var of that name.
	Paths map[string]string

	// The tags of each role. A device with tags of two roles has the one that comes first here: a device that is to
	// get files encrypted must never get them in clear.
	Encrypted, ReceiveOnly, SendOnly, SendReceive []fleet.Tag

	// Hubs are tags. When there are any, the devices with one of them share with all, the others only with those.
	Hubs       []fleet.Tag
	Secret     string // the secret with the password for Encrypted
	Versioning *Versioning
	Ignores    []string // lines of ignore patterns; none: those of each device stay
	// KeepFreePercent is a part of the disk; 0 leaves it as the daemon has it.
	KeepFreePercent int
}

// Versioning is what a daemon does with the earlier versions of files.
type Versioning struct {
	Type   string            `json:"type"`
	Params map[string]string `json:"params,omitempty"`
}

// role is Syncthing's type of a folder, and the tags of the devices that have it.
type role struct {
	kind, constant string
	tags           *[]fleet.Tag
}

// roles are in the order of precedence.
func (s *Share) roles() []role {
	return []role{{"receiveencrypted", "ENCRYPTED", &s.Encrypted}, {"receiveonly", "RECEIVE_ONLY", &s.ReceiveOnly},
		{"sendonly", "SEND_ONLY", &s.SendOnly}, {"sendreceive", "SEND_RECEIVE", &s.SendReceive}}
}

// Tags returns the tags of all roles, sorted and each once.
func (s Share) Tags() (tags []fleet.Tag) {
	for _, role := range s.roles() {
		tags = append(tags, *role.tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Write returns the template that shares the folder. The share must be valid.
func (s Share) Write() Written {
	w := Written{Op: fleet.OpMerge, Key: s.folderKey(), Text: s.text(), Tags: s.Tags()}
	if len(s.Ignores) > 0 {
		w.Key = "" // Folders and ignore patterns are two sections of a configuration.
	}
	return w
}

func (s Share) folderKey() string { return stconfig.Key{}.Child("folders").Child(s.Folder).String() }

// ReadShare returns the share that a template is, if Write gives exactly its op, key, text and tags.
func ReadShare(t fleet.TaggedTemplate) (Share, bool) {
	var s Share
	if !strings.HasPrefix(t.Text, shareHeader) {
		return s, false
	}
	readConstants(t.Text, s.constants())
	return s, s.Validate() == nil && s.Write().equal(t)
}

// constants are the lines at the beginning of the program.
func (s *Share) constants() []constant {
	all := []constant{{"FOLDER", &s.Folder}, {"LABEL", &s.Label}, {"PATHS", &s.Paths}}
	for _, role := range s.roles() {
		all = append(all, constant{role.constant, role.tags})
	}
	return append(all, constant{"HUBS", &s.Hubs}, constant{"SECRET", &s.Secret},
		constant{"VERSIONING", &s.Versioning}, constant{"IGNORES", &s.Ignores},
		constant{"KEEP_FREE_PERCENT", &s.KeepFreePercent})
}
