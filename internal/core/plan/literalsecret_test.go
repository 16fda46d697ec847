package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// guess is one way for a template to have a text at a secret field.
type guess struct {
	op        fleet.Op
	key, text string // <guess> stands for the text
	truth     string
}

func guesses(c *scene) []guess {
	apiKey := c.observed.Get("gui").Get("apiKey").Str()
	share := "folders.photos-x4kd.devices." + peer
	var all []guess
	for _, program := range []bool{false, true} {
		for _, g := range []guess{
			{fleet.OpSet, "gui.apiKey", `"<guess>"`, apiKey},
			{fleet.OpMerge, "GUI", `{"APIKEY": "<guess>"}`, apiKey},
			{fleet.OpMerge, "", `{"Gui": {"apiKey": "<guess>"}}`, apiKey},
			{fleet.OpSet, share + ".encryptionPassword", `"<guess>"`, secretOfShare},
			{fleet.OpSet, "folders.*.devices.*.encryptionPassword", `"<guess>"`, secretOfShare},
			{fleet.OpMerge, "Folders.photos-x4kd.Devices." + strings.ToLower(peer), `{"encryptionpassword": "<guess>"}`,
				secretOfShare},
			{fleet.OpMerge, "folders.photos-x4kd", `{"devices": [{"DeviceID": "` + strings.ToLower(peer) +
				`", "encryptionPassword": "<guess>"}]}`, secretOfShare},
			{fleet.OpAppend, "folders.photos-x4kd.devices", `{"deviceID": "` + peer + `", "encryptionPassword": "<guess>"}`,
				secretOfShare},
			{fleet.OpAppend, "folders", `[{"id": "photos-x4kd", "devices": [{"deviceID": "` + peer +
				`", "encryptionPassword": "<guess>"}]}]`, secretOfShare},
			{fleet.OpSet, "gui.password", `"<guess>"`, "hunter2"},
		} {
			if program {
				g.text = "def template(config):\n    print(config['gui']['theme'])\n    return json.decode('''" + g.text + "''')\n"
			}
			all = append(all, g)
		}
	}
	return all
}

// TestAnAuthorsGuessOfASecretDoesNotShow covers a text at a secret field that equals what the daemon has: the plan had
// no change then, and a held one otherwise.
func TestAnAuthorsGuessOfASecretDoesNotShow(t *testing.T) {
	for i, g := range guesses(guardScene(t)) {
		t.Run(fmt.Sprint(i, g.key), func(t *testing.T) {
			wrong, right := shownOf(t, g, fleet.RoleAuthor, "a wrong guess"), shownOf(t, g, fleet.RoleAuthor, g.truth)
			if wrong != right || !strings.Contains(wrong, string(plan.Refused)) {
				t.Errorf("a wrong guess shows %q, the right one %q", wrong, right)
			}
		})
	}
}

// shownOf is all that a plan shows of a guess.
func shownOf(t *testing.T, g guess, role fleet.Role, text string) string {
	t.Helper()
	c := guardScene(t)
	c.edit(fleet.OpSet, "folders.*.devices.*.encryptionPassword", `"`+secretOfShare+`"`)
	c.edit(fleet.OpSet, "gui.user", `"nora"`)
	c.edit(fleet.OpSet, "gui.password", `"`+bcryptHash+`"`)
	c.samePhrase = func(text, hash string) bool { return text == "hunter2" && hash == bcryptHash }
	r, p, err := c.plan([]fleet.Template{{ID: 1, Op: g.op, Key: g.key, SavedRole: role,
		Text: strings.ReplaceAll(g.text, "<guess>", text)}})
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, change := range p.Changes {
		from, to := change.Shown()
		if strings.Contains(string(to.JSON())+string(from.JSON())+change.Reason, text) {
			t.Errorf("%s shows the text", change.Key)
		}
		shown = append(shown, fmt.Sprintln(change.Key, string(from.JSON()), string(to.JSON()), change.Class, change.Reason,
			change.Drift, change.Returns, change.Access, change.Sendable()))
	}
	for _, conflict := range r.Conflicts {
		shown = append(shown, conflict.String())
	}
	return strings.Join(shown, "")
}

// secretOfShare is the password of the folder that the scene shares.
const secretOfShare = "old-Pw-93"

const bcryptHash = "$2a$10$KxrCbGMSDMIcKnDZgVcTzOZuVWQm7nQcGF0m6K1cYJ3Hq4uB9VwZK"

// TestAnAdminsTextAtASecretFieldIsCompared covers what admins may: the same text is no change, another one is held.
func TestAnAdminsTextAtASecretFieldIsCompared(t *testing.T) {
	for _, g := range guesses(guardScene(t)) {
		if shown := shownOf(t, g, fleet.RoleAdmin, g.truth); shown != "" {
			t.Errorf("%s: the same text shows %q", g.key, shown)
		}
		if shown := shownOf(t, g, fleet.RoleAdmin, "another text"); !strings.Contains(shown, " held ") {
			t.Errorf("%s: another text shows %q", g.key, shown)
		}
	}
}

// TestWhatDependsOnAnAuthorsTextWaits covers a new folder with a password in clear, and a secret that an admin's
// template puts in the place of an author's text.
func TestWhatDependsOnAnAuthorsTextWaits(t *testing.T) {
	text := `{"path": "~/new", "devices": [{"deviceID": "` + peer + `", "encryptionPassword": "in clear"}]}`
	author := fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders.new", Text: text, SavedRole: fleet.RoleAuthor}
	admin := fleet.Template{ID: 2, Op: fleet.OpSet, Key: "folders.new.devices." + peer + ".encryptionPassword",
		Text: `"${secret:pw}"`, SavedRole: fleet.RoleAdmin}
	c := guardScene(t)
	_, p, err := c.plan([]fleet.Template{author})
	if err != nil || len(p.Sendable()) > 0 || p.Changes[0].Class != plan.Refused {
		t.Errorf("got %v, %v, want it refused", p.Changes, err)
	}
	if reason := p.Changes[0].Reason; !strings.HasPrefix(reason, "template 1, which no admin saved last, has a secret") {
		t.Errorf("the reason is %s", reason)
	}
	_, p, err = c.plan([]fleet.Template{author, admin})
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Class == plan.Refused {
		t.Errorf("with an admin's secret in its place: got %v, %v", p.Changes, err)
	}
}

// TestAnAuthorPassesASecretOfTheConfigurationOn covers a program that gives back what it read: that is no text of its
// own.
func TestAnAuthorPassesASecretOfTheConfigurationOn(t *testing.T) {
	c := guardScene(t)
	_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpMerge, Key: "gui", SavedRole: fleet.RoleAuthor,
		Text: "def template(config):\n    return {'apiKey': config['gui']['apiKey'], 'theme': 'dark'}\n"}})
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Class != plan.Free {
		t.Errorf("got %v, %v", p.Changes, err)
	}
}
