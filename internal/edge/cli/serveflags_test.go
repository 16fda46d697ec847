package cli

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/docs"
	"muster/internal/fleet"
)

var (
	flagRow     = regexp.MustCompile("(?m)^\\| (`--[^|]*) \\| ((?:settings? |start-up: )[^|]+) \\|$")
	flagName    = regexp.MustCompile("`--([a-z-]+)`")
	settingName = regexp.MustCompile("`([a-zA-Z]+)`")
)

// A policy that is a flag alone cannot be changed by an administrator, and a new flag was easily one.
func TestEachFlagOfServeIsASettingOrHasAReason(t *testing.T) {
	page, err := docs.Files.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	settingsOf, reasonOf := map[string][]string{}, map[string]string{}
	for _, row := range flagRow.FindAllStringSubmatch(string(page), -1) {
		for _, flag := range flagName.FindAllStringSubmatch(row[1], -1) {
			if settingsOf[flag[1]] != nil || reasonOf[flag[1]] != "" {
				t.Errorf("--%s is in two rows", flag[1])
			}
			if reason, is := strings.CutPrefix(row[2], "start-up: "); is {
				reasonOf[flag[1]] = reason
				continue
			}
			for _, name := range settingName.FindAllStringSubmatch(row[2], -1) {
				settingsOf[flag[1]] = append(settingsOf[flag[1]], name[1])
			}
		}
	}
	settingByFlag := map[string]fleet.Setting{}
	for _, setting := range fleet.Settings() {
		if setting.Flag != "" {
			settingByFlag[setting.Flag] = setting
		}
	}
	unused := maps.Clone(settingByFlag)
	for _, flag := range flagsOfServe(t) {
		setting, isPolicy := settingByFlag[strings.TrimSuffix(flag, "-file")]
		switch {
		case isPolicy && !slices.Contains(settingsOf[flag], string(setting.Name)):
			t.Errorf("docs/settings.md does not say that --%s overrides the setting %s", flag, setting.Name)
		case !isPolicy && reasonOf[flag] == "":
			t.Errorf("--%s has no setting, and docs/settings.md does not say why (a row with start-up: …)", flag)
		}
		delete(settingsOf, flag)
		delete(reasonOf, flag)
		delete(unused, flag)
	}
	if len(settingsOf)+len(reasonOf)+len(unused) > 0 {
		t.Errorf("no flags of serve: %v, %v, %v", settingsOf, reasonOf, unused)
	}
}

// flagsOfServe are the flags that serve alone has, also those that help does not show.
func flagsOfServe(t *testing.T) (flags []string) {
	t.Helper()
	var model commands
	for _, node := range modelOf(t, &model).Model.Children {
		if node.Name != "serve" {
			continue
		}
		for _, flag := range node.Flags {
			if flag.Name != "help" {
				flags = append(flags, flag.Name)
			}
		}
	}
	if len(flags) < 50 {
		t.Fatalf("serve has the flags %v", flags)
	}
	return flags
}
