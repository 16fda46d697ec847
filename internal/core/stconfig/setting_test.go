package stconfig

import (
	"regexp"
	"strings"
	"testing"
)

// noSettings are fields that a person does not set by a key alone, and why.
var noSettings = regexp.MustCompile(strings.Join([]string{
	`^version `,
	`(Devices|\.ignoredFolders|\.pendingFolders)\.\*`,                    // what daemons note down of others
	`\.(id|deviceID|introducedBy) `,                                      // identities
	`\.(encryptionPassword|password|apiKey) `,                            // secrets
	`\.versioning\.params\.`,                                             // without a type they say nothing
	`\.entries\.`,                                                        // a list whose order counts
	`^options\.(urSeen|urUniqueId|unackedNotificationIDs) `,              // of one daemon
	`^(folders\.\*|defaults\.folder)\.(readOnly|minDiskFreePct|pullers)`, // daemons up to 1.27 migrate them away
	`^ignores\.`,
}, "|"))

func TestEachFieldOfTheSchemaIsASettingOrLeftOutForAReason(t *testing.T) {
	settings := map[string]Setting{}
	for _, s := range Settings() {
		settings[s.Key] = s
	}
	for _, line := range schemaKeys(configuration, "") {
		key, kind, _ := strings.Cut(line, " ")
		s, is := settings[key]
		delete(settings, key)
		switch leftOut := noSettings.MatchString(line); {
		case is && leftOut:
			t.Errorf("%s is a setting although it should be left out", key)
		case !is && !leftOut:
			t.Errorf("%s has no line in settings.txt", key)
		case is && string(s.Type) != kind:
			t.Errorf("%s: got type %s, want %s", key, s.Type, kind)
		}
	}
	for key := range settings {
		t.Errorf("%s is in settings.txt and not in the schema", key)
	}
}

// The default of a setting is a value that the setting takes.
func TestASettingTakesItsDefault(t *testing.T) {
	for _, s := range Settings() {
		got, err := s.Value(s.DefaultTexts())
		if err != nil || !got.Equal(s.Default) {
			t.Errorf("%s: got %s, %v, want %s", s.Key, got.JSON(), err, s.Default.JSON())
		}
		if !strings.HasSuffix(s.Help, ".") {
			t.Errorf("%s: the help is no sentence: %q", s.Key, s.Help)
		}
	}
}

func TestASettingIsFoundByEachSpellingOfItsKey(t *testing.T) {
	for typed, want := range map[string]string{
		"Options.NATEnabled":               "options.natEnabled",
		`folders."a.b".PAUSED`:             "folders.*.paused",
		"folders.*.paused":                 "folders.*.paused",
		"defaults.folder.paused":           "defaults.folder.paused",
		"folders.photos.minDiskFree.value": "folders.*.minDiskFree.value",
	} {
		if s, _, err := SettingAt(typed); err != nil || s.Key != want {
			t.Errorf("%s: got %q, %v, want %q", typed, s.Key, err, want)
		}
	}
	for typed, want := range map[string]string{
		"options.natEnable": "did you mean options.natEnabled?", "gui.password": "is a secret",
		"folders.photos": "no setting", "nothing.at.all": "section", "": "no setting", "folders.*.devices": "no setting",
	} {
		if _, _, err := SettingAt(typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", typed, err, want)
		}
	}
}

func TestAValueThatASettingDoesNotTakeIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		key, typed, want string
	}{
		{"options.natEnabled", "yes", "true or false"},
		{"options.maxSendKbps", "2 MB/s", "whole number"},
		{"options.maxSendKbps", "1.5", "whole number"},
		{"options.maxSendKbps", "9223372036854775807", "too large"},
		{"folders.*.fsWatcherDelayS", "soon", "is a number"},
		{"folders.*.order", "newest", "newestFirst"},
	} {
		s, _, err := SettingAt(c.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Value([]string{c.typed}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: got %v, want an error with %q", c.key, c.typed, err, c.want)
		}
	}
}
