package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// The flag of a setting has the help of the table of settings.
func TestTheFlagOfASettingHasTheHelpOfTheSetting(t *testing.T) {
	helps := map[string]string{}
	for _, node := range leavesOf(allNodes(t)) {
		for _, flag := range node.Flags {
			if strings.Contains(flag.Help, settingHelp) {
				t.Errorf("%s --%s: the help is %q", node.FullPath(), flag.Name, flag.Help)
			}
			if node.Name == "serve" {
				helps[flag.Name] = flag.Help
			}
		}
	}
	for field := range reflect.TypeFor[settingFlags]().Fields() {
		name, _, _ := strings.Cut(strings.TrimPrefix(field.Tag.Get("help"), settingHelp), " ")
		at := slices.IndexFunc(fleet.Settings(), func(s fleet.Setting) bool { return string(s.Name) == name })
		if at < 0 {
			t.Errorf("%s: %q is no setting", field.Name, name)
			continue
		}
		s := fleet.Settings()[at]
		if help := helps[s.Flag]; !strings.HasPrefix(help, strings.TrimSpace(s.Help)+" Without it, ") {
			t.Errorf("--%s: the help is %q, want that of %s", s.Flag, help, s.Name)
		}
	}
	if !strings.HasSuffix(helps["trouble-off"], " May be given several times.") {
		t.Errorf("--trouble-off: the help is %q", helps["trouble-off"])
	}
}
