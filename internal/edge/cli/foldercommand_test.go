package cli

import (
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// "Order override", "Resume it there" and "muster folder failed FOLDER" were no commands that could be typed.
func TestTheNextStepOfAFolderHasTheCommandThatHelps(t *testing.T) {
	paused := api.FolderStanding{Folder: "a b", DeviceID: idNAS, State: "paused", Paused: true}
	connections, template, several := paused, paused, paused
	connections.Paused, template.PausedBy, several.DeviceID = false, &api.PausedBy{Cause: "template"}, ""
	away := paused
	away.Connection = "unreachable"
	of := func(cause, folder, device string) string { return withCommand("Do.", cause, folder, device) }
	for name, test := range map[string]struct{ got, want string }{
		"override": {of("outOfSync", "a b", idNAS),
			"muster folder override 'a b' --device P56IOI7"},
		"override of several": {of("outOfSync", "music", ""),
			"muster folder get music"},
		"revert": {of("localChanges", "music", idNAS),
			"muster folder revert music --device P56IOI7"},
		"revert of several": {of("localChanges", "music", ""), "muster folder revert music"},
		"failed": {of("failedItems", "music", idNAS),
			"muster folder failed music --device P56IOI7"},
		"copies": {of("atRisk", "music", idNAS), "muster folder copies music"},
		"paused elsewhere": {withCommand("Do. "+fleet.ResumeThere, "alone", "music", idNAS),
			"muster folder resume music"},
		"paused":                       {nextOf(paused, "paused", "Do."), "muster folder resume 'a b' --device P56IOI7"},
		"paused on several":            {nextOf(several, "paused", "Do."), "muster folder resume 'a b'"},
		"connections paused":           {nextOf(connections, "paused", "Do."), "muster device resume P56IOI7"},
		"paused by a template":         {nextOf(template, "paused", "Do."), ""},
		"revert of one that is away":   {nextOf(away, "localChanges", "Do."), ""},
		"override of one that is away": {nextOf(away, "outOfSync", "Do."), ""},
		"conflicts of one that is away": {nextOf(away, "conflicts", "Do."),
			"muster folder conflicts 'a b' --device P56IOI7"},
		"stopped":              {of("folderStopped", "music", idNAS), ""},
		"the disk of the home": {of("diskNearlyFull", "", idNAS), ""},
		"besides another state": {nextOf(paused, "conflicts", "Do."),
			"muster folder conflicts 'a b' --device P56IOI7"},
	} {
		_, command, _ := strings.Cut(test.got, "`")
		if command = strings.TrimSuffix(command, "`."); command != test.want || !strings.HasPrefix(test.got, "Do.") {
			t.Errorf("%s: got %q, want the command %q", name, test.got, test.want)
		}
		if args := strings.Fields(strings.ReplaceAll(command, "'a b'", "music")); len(args) > 0 {
			if _, err := modelOf(t, &commands{}).Parse(args[1:]); err != nil {
				t.Errorf("%s: %v", command, err)
			}
		}
	}
}
