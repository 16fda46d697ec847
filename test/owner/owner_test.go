// Package owner_test changes the configuration of real and simulated daemons without Muster, and checks which changes
// Muster attributes to whom.
package owner_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/wait"
)

func shared(with ...fleet.DeviceID) string {
	var shares []string
	for _, id := range with {
		shares = append(shares, fmt.Sprintf(`{"deviceID": %q}`, id))
	}
	return fmt.Sprintf(`[{"id": "made", "path": "~/made", "devices": [%s]}]`, strings.Join(shares, ", "))
}

func share(id fleet.DeviceID) string { return "folders.made.devices." + string(id) }

// Any change of a folder that a template had made, net nothing included, made it the person's with its share list: a
// share that the template took away stayed, and nobody was asked about the folder when the template was gone.
func TestRevocationIsCarriedOutWhateverPeopleDidToTheFolder(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		made := p.template(10, "merge", "folders", shared(nora, otto))
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
		for _, edit := range []func(){
			func() { p.patch("folders/made", `{"rescanIntervalS": 77}`) },
			func() { p.patch("folders/made", `{"paused": true}`) },
			func() { p.patch("folders/made", `{"paused": false}`) },
			func() {
				folder := stconfig.Lookup(p.doc(), stconfig.Key{}.Child("folders").Child("made"))
				p.call("PUT", "/rest/config/folders/made", folder.With("label", stconfig.Text("mine")).JSON())
			},
			func() {
				doc := p.doc()
				p.whole(doc.With("options", doc.Get("options").With("maxSendKbps", stconfig.Literal("7"))))
			},
			func() { // as an introducer does
				stranger := fleet.DeviceIDOf([32]byte{3})
				p.call("POST", "/rest/config/devices", []byte(fmt.Sprintf(`{"deviceID": %q, "introducedBy": %q}`, stranger, otto)))
				folder := stconfig.Lookup(p.doc(), stconfig.Key{}.Child("folders").Child("made"))
				shares := append(slices.Collect(folder.Get("devices").Values()), stconfig.Obj(
					stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(stranger))},
					stconfig.Member{Name: "introducedBy", Value: stconfig.Text(string(otto))}))
				p.call("PUT", "/rest/config/folders/made", folder.With("devices", stconfig.List(shares...)).JSON())
			},
		} {
			edit()
			p.rests(fleet.ConfigInSync)
		}

		p.change(made, "merge", "folders", shared(otto))
		p.becomes(share(nora), "absent")
		p.becomes("devices."+string(nora), "absent")
		for key, want := range map[string]string{"folders.made.rescanIntervalS": "77", "folders.made.label": `"mine"`,
			"options.maxSendKbps": "7", share(otto) + ".deviceID": fmt.Sprintf("%q", otto)} {
			if got := p.at(key); got != want {
				p.t.Errorf("%s is %s, want %s", key, got, want)
			}
		}
		p.gone(made)
		plan := p.rests(fleet.ConfigHeld)
		at := slices.IndexFunc(plan.Changes, func(c api.PlannedChange) bool { return c.Key == "folders.made" })
		if at < 0 || plan.Changes[at].Class != "held" || !plan.Changes[at].Returns {
			p.t.Errorf("nobody is asked about the folder:%s", changes(plan))
		}
		p.answer([]string{"folders.made"}, nil)
		p.becomes("folders.made", "absent")
		p.becomes("options.maxSendKbps", "7")
		p.rests(fleet.ConfigUnmanaged)
	})
}

// An old document put back made Muster's earlier value the base: the person's was gone for good.
func TestAnOldDocumentPutBackIsNoEdit(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.patch("options", `{"maxSendKbps": 12345}`)
		p.rests(fleet.ConfigUnmanaged)
		made := p.template(10, "set", "options.maxSendKbps", "1000")
		p.becomes("options.maxSendKbps", "1000")
		p.rests(fleet.ConfigInSync)
		old := p.doc()
		p.change(made, "set", "options.maxSendKbps", "1001")
		p.becomes("options.maxSendKbps", "1001")
		p.rests(fleet.ConfigInSync)
		p.whole(old)
		p.becomes("options.maxSendKbps", "1001")
		p.rests(fleet.ConfigInSync)
		p.gone(made)
		p.becomes("options.maxSendKbps", "12345")
		p.rests(fleet.ConfigUnmanaged)

		p.whole(old) // where no template asks it is held, and the answer is a person's
		plan := p.rests(fleet.ConfigHeld)
		if !strings.Contains(changes(plan), "Muster's earlier value") {
			p.t.Errorf("got%s", changes(plan))
		}
		p.answer(nil, []string{"options.maxSendKbps"})
		p.rests(fleet.ConfigUnmanaged)
		p.becomes("options.maxSendKbps", "1000")
	})
}

// A template that removed a device had no effect, without a word, where another one shared a folder with it; and
// templates that came later did not see devices that were brought along, and emptied their names.
func TestARemovedDeviceStaysAwayFromSharedFolders(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.template(10, "merge", "folders", shared(nora, otto))
		p.template(20, "set", "options.maxSendKbps", "def template(config):\n    return len(config.devices)\n")
		named := p.template(30, "merge", "devices", fmt.Sprintf(`[{"deviceID": %q, "maxSendKbps": 9}]`, nora))
		p.becomes("options.maxSendKbps", "3")
		p.becomes("devices."+string(nora)+".name", fmt.Sprintf("%q", nora.Short()))
		p.rests(fleet.ConfigInSync)
		p.gone(named)
		p.rests(fleet.ConfigInSync)
		out := p.template(40, "remove", "devices", fmt.Sprintf("[%q]", nora))
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"devices." + string(nora)}, nil)
		p.becomes("devices."+string(nora), "absent")
		p.becomes(share(nora), "absent")
		p.rests(fleet.ConfigInSync)
		p.template(50, "merge", "folders.made.devices", fmt.Sprintf(`[{"deviceID": %q}]`, nora))
		wait.Until(p.t, func() string {
			text := changes(p.rests(fleet.ConfigInSync))
			if !strings.Contains(text, `"merge folders.made.devices" shares`) ||
				!strings.Contains(text, `"remove devices" removes`) {
				return "the plan does not name both templates" + text
			}
			return ""
		})
		p.gone(out)
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
	})
}

// What a person had set in a device of Muster's became Muster's value when the device went with its template. The next
// time the person set the same, it was held: "Muster's earlier value was put back".
func TestAPersonsRateStaysThePersonsWhenTheDeviceGoesAndComes(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		named := fmt.Sprintf(`[{"deviceID": %q}]`, nora)
		rate := "devices." + string(nora) + ".maxSendKbps"
		made := p.template(10, "merge", "devices", named)
		for range 3 {
			p.becomes(rate, "0")
			p.rests(fleet.ConfigInSync)
			p.patch("devices/"+string(nora), `{"maxSendKbps": 4711}`)
			p.rests(fleet.ConfigInSync)
			p.becomes(rate, "4711")
			if _, err := p.s.Client.UntagTemplate(p.t.Context(), made, "it"); err != nil {
				p.t.Fatal(err)
			}
			p.rests(fleet.ConfigHeld)
			p.answer([]string{"devices." + string(nora)}, nil)
			p.becomes("devices."+string(nora), "absent")
			p.rests(fleet.ConfigUnmanaged)
			if _, err := p.s.Client.TagTemplate(p.t.Context(), made, "it"); err != nil {
				p.t.Fatal(err)
			}
		}
	})
}

// A revoked device that somebody added again was held, and got what was shared with it meanwhile.
func TestARevokedDeviceThatComesBackIsRemovedAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		added := []byte(fmt.Sprintf(`{"deviceID": %q, "name": "hers"}`, nora))
		p.call("POST", "/rest/config/devices", added)
		p.rests(fleet.ConfigUnmanaged)
		p.template(10, "remove", "devices", fmt.Sprintf("[%q]", nora))
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"devices." + string(nora)}, nil)
		p.becomes("devices."+string(nora), "absent")
		p.rests(fleet.ConfigInSync)
		for n := range 4 {
			p.call("POST", "/rest/config/devices", added)
			p.call("POST", "/rest/config/folders", []byte(fmt.Sprintf(
				`{"id": "stolen-%d", "path": "~/stolen-%d", "devices": [{"deviceID": %q}]}`, n, n, nora)))
			p.becomes("devices."+string(nora), "absent")
			p.becomes(fmt.Sprintf("folders.stolen-%d.devices.%s", n, nora), "absent")
		}
		p.rests(fleet.ConfigFailed) // and says that it is brought back again and again
	})
}

// The same templates saved in another order made another plan for the same removal.
func TestTheOrderOfSavingDoesNotDecideWhatIsAsked(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		classes := map[string]string{}
		folder := func() int64 { return p.template(10, "merge", "folders", shared(nora)) }
		names := func() int64 { return p.template(20, "merge", "devices", fmt.Sprintf(`[{"deviceID": %q}]`, nora)) }
		for _, order := range [][]func() int64{{folder, names}, {names, folder}} {
			var ids []int64
			for _, save := range order {
				ids = append(ids, save())
				p.becomes("devices."+string(nora)+".deviceID", fmt.Sprintf("%q", nora))
				p.rests(fleet.ConfigInSync)
			}
			p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
			p.rests(fleet.ConfigInSync)
			if _, err := p.s.Client.UntagDevice(p.t.Context(), string(p.id), "it"); err != nil {
				p.t.Fatal(err)
			}
			for _, c := range p.rests(fleet.ConfigHeld).Changes {
				c.Reason, _, _ = strings.Cut(c.Reason, "; no other device") // said once Muster knows who has the folder
				if was, ok := classes[c.Key]; ok && was != c.Class+c.Reason {
					p.t.Errorf("%s is %s (%s), else %s", c.Key, c.Class, c.Reason, was)
				}
				classes[c.Key] = c.Class + c.Reason
			}
			p.answer([]string{"folders.made", "devices." + string(nora)}, nil)
			p.becomes("devices."+string(nora), "absent")
			p.rests(fleet.ConfigUnmanaged)
			for _, id := range ids {
				p.gone(id)
			}
			if _, err := p.s.Client.TagDevice(p.t.Context(), string(p.id), "it"); err != nil {
				p.t.Fatal(err)
			}
		}
	})
}

// Deleting a template with a password was refused for good, and consenting to the rest locked people out.
func TestAPasswordThatGoesWithItsTemplateIsKeptOrSetAnew(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.patch("gui", `{"user": "alice", "password": "her own"}`)
		p.rests(fleet.ConfigUnmanaged)
		hers := p.at("gui.password")
		if _, _, err := p.s.Client.PutSecret(p.t.Context(), "pw", api.PutSecret{Value: new("correct horse"),
			Keys: []string{"gui.password"}}); err != nil {
			p.t.Fatal(err)
		}
		made := p.template(10, "merge", "gui", `{"user": "admins", "password": "${secret:pw}"}`)
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"gui.user", "gui.password"}, nil)
		p.becomes("gui.user", `"admins"`)
		p.rests(fleet.ConfigInSync)
		p.gone(made)
		if text := changes(p.rests(fleet.ConfigHeld)); !strings.Contains(text,
			"cannot be written back: keep this one, choose another value, or set one") {
			p.t.Errorf("got%s", text)
		}
		p.answer([]string{"gui.user"}, nil)
		plan := p.rests(fleet.ConfigHeld)
		if got := p.at("gui.user"); got != `"admins"` || p.at("gui.password") == hers {
			p.t.Errorf("the user is %s, and the password is another's:%s", got, changes(plan))
		}
		p.answer(nil, []string{"gui.user", "gui.password"})
		p.rests(fleet.ConfigUnmanaged)
		if got := p.at("gui.user"); got != `"admins"` {
			p.t.Errorf("the user is %s, and admins was kept", got)
		}
	})
}

// The password went with its template, and the daemon kept the hash that it had made of it: nobody could say that there
// is to be no password.
func TestAWithdrawnPasswordGoesWhereAPersonChoosesThatThereIsNone(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]string{"there was none": "", "there was another": "her own"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(p *place) {
				if before != "" {
					p.patch("gui", fmt.Sprintf(`{"password": %q}`, before))
				}
				p.rests(fleet.ConfigUnmanaged)
				if _, _, err := p.s.Client.PutSecret(p.t.Context(), "pw", api.PutSecret{Value: new("correct horse"),
					Keys: []string{"gui.password"}}); err != nil {
					p.t.Fatal(err)
				}
				made := p.template(10, "set", "gui.password", `"${secret:pw}"`)
				p.rests(fleet.ConfigHeld)
				p.answer([]string{"gui.password"}, nil)
				p.rests(fleet.ConfigInSync)
				hash := p.at("gui.password")
				p.gone(made)
				plan := p.rests(fleet.ConfigHeld)
				if at := slices.IndexFunc(
					plan.Changes,
					func(c api.PlannedChange) bool { return c.Key == "gui.password" },
				); at < 0 ||
					len(plan.Changes[at].Choices) != 1 ||
					plan.Changes[at].Choices[0].Name != "no password" {
					p.t.Fatalf("the hold offers no choice: %+v", plan.Changes)
				}
				_, err := p.s.Client.ApplyPlan(p.t.Context(), string(p.id), api.ApplyPlan{Digest: &plan.Digest,
					Values: map[string]string{"gui.password": "another"}})
				var refused *client.Error
				if !errors.As(err, &refused) || refused.Status != http.StatusUnprocessableEntity ||
					p.at("gui.password") != hash {
					p.t.Errorf("a value that is not offered: got %v", err)
				}
				p.choose("gui.password", "no password")
				p.rests(fleet.ConfigUnmanaged)
				p.passwordIsEmpty()
				again := p.template(10, "set", "gui.password", `"${secret:pw}"`)
				p.rests(fleet.ConfigHeld)
				p.gone(again)
				p.rests(fleet.ConfigUnmanaged)
				p.passwordIsEmpty()
			})
		})
	}
}

// The daemon drops its notice about a missing password with a password, and adds it without one. Muster wrote it back
// when the password's template was gone, while the password was still there: "the daemon takes it and then shows
// another value", and every device failed.
func TestTheNoticeAboutAMissingPasswordIsTheDaemons(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.patch("options", `{"unackedNotificationIDs": ["authenticationUserAndPassword", "other"]}`)
		p.rests(fleet.ConfigUnmanaged)
		if _, _, err := p.s.Client.PutSecret(p.t.Context(), "pw", api.PutSecret{Value: new("correct horse"),
			Keys: []string{"gui.password"}}); err != nil {
			p.t.Fatal(err)
		}
		made := p.template(10, "merge", "gui", `{"user": "admins", "password": "${secret:pw}"}`)
		p.noNotices(p.rests(fleet.ConfigHeld))
		p.answer([]string{"gui.user", "gui.password"}, nil)
		p.becomes("gui.user", `"admins"`)
		p.noNotices(p.rests(fleet.ConfigInSync))
		p.becomes("options.unackedNotificationIDs", `["other"]`)
		p.gone(made)
		for range 3 { // so often it was written back before it counted as failed
			p.patch("gui", `{"theme": "dark"}`)
			p.noNotices(p.rests(fleet.ConfigHeld))
			p.patch("gui", `{"theme": "light"}`)
			p.noNotices(p.rests(fleet.ConfigHeld))
		}
		p.answer(nil, []string{"gui.user", "gui.password"})
		p.noNotices(p.rests(fleet.ConfigUnmanaged))
		p.becomes("options.unackedNotificationIDs", `["other"]`)
	})
}

// noNotices checks that a plan changes no notices of the daemon's.
func (p *place) noNotices(plan api.Plan) {
	p.t.Helper()
	if text := changes(plan); strings.Contains(text, "unackedNotificationIDs") {
		p.t.Errorf("the notices would be changed:%s", text)
	}
}

// A person restored a value that Muster had written earlier, and was asked whose it is.
func TestARestoredValueIsThePersonsWhoAskedForIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		made := p.template(10, "set", "options.maxSendKbps", "1000")
		p.becomes("options.maxSendKbps", "1000")
		p.rests(fleet.ConfigInSync)
		revision := p.s.WaitRevision(p.id, "options.maxSendKbps", "1000")
		p.gone(made)
		p.becomes("options.maxSendKbps", "0")
		p.rests(fleet.ConfigUnmanaged)
		restored, err := p.s.Client.RestoreRevision(p.t.Context(), string(p.id), revision,
			api.Restore{Section: new("options.maxSendKbps")})
		if err != nil || !restored.Done {
			p.t.Fatalf("got %+v, %v", restored, err)
		}
		p.rests(fleet.ConfigUnmanaged)
		p.becomes("options.maxSendKbps", "1000")
		again := p.template(10, "set", "options.maxSendKbps", "2000")
		p.becomes("options.maxSendKbps", "2000")
		p.rests(fleet.ConfigInSync)
		p.gone(again)
		p.becomes("options.maxSendKbps", "1000")
		p.rests(fleet.ConfigUnmanaged)
	})
}

// A person keeps a whole folder that no template asks for any more; then another template asks for it.
func TestAKeptFolderIsThePersonsUnderAnotherTemplate(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		first := p.template(10, "merge", "folders", shared(nora))
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
		p.gone(first)
		p.rests(fleet.ConfigHeld)
		p.answer(nil, []string{"folders.made"})
		p.rests(fleet.ConfigUnmanaged)
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))

		second := p.template(10, "merge", "folders", `[{"id": "made", "path": "~/made", "rescanIntervalS": 99,
			"devices": [{"deviceID": "`+string(otto)+`"}]}]`)
		p.becomes(share(otto)+".deviceID", fmt.Sprintf("%q", otto))
		p.becomes("folders.made.rescanIntervalS", "99")
		p.rests(fleet.ConfigInSync)
		p.gone(second)
		p.becomes(share(otto), "absent")
		p.becomes("folders.made.rescanIntervalS", "3600")
		plan := p.rests(fleet.ConfigUnmanaged)
		if len(plan.Changes) > 0 {
			p.t.Errorf("the person is asked again:%s", changes(plan))
		}
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
	})
}

// A person edits an old document and puts it back: the edit is theirs, the values that Muster wrote earlier are not.
func TestAnEditInAnOldDocumentIsThePersonsAndTheRestIsNot(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.patch("options", `{"maxSendKbps": 12345}`)
		p.rests(fleet.ConfigUnmanaged)
		made := p.template(10, "merge", "", `{"options": {"maxSendKbps": 1000, "maxRecvKbps": 500},
			"folders": [{"id": "made", "path": "~/made", "rescanIntervalS": 50}]}`)
		p.becomes("options.maxSendKbps", "1000")
		p.becomes("folders.made.rescanIntervalS", "50")
		p.rests(fleet.ConfigInSync)
		old := p.doc()
		p.change(made, "merge", "", `{"options": {"maxSendKbps": 1001, "maxRecvKbps": 501},
			"folders": [{"id": "made", "path": "~/made", "rescanIntervalS": 51}]}`)
		p.becomes("options.maxSendKbps", "1001")
		p.becomes("folders.made.rescanIntervalS", "51")
		p.rests(fleet.ConfigInSync)

		for key, value := range map[string]string{"options.maxRecvKbps": "77", "options.reconnectionIntervalS": "61",
			"folders.made.label": `"mine"`} {
			at, err := stconfig.ParseKey(key)
			if err != nil {
				p.t.Fatal(err)
			}
			edit, err := stconfig.Parse([]byte(value))
			if err != nil {
				p.t.Fatal(err)
			}
			old = stconfig.Replace(old, at, edit)
		}
		p.whole(old)
		p.becomes("options.maxSendKbps", "1001")
		p.becomes("options.maxRecvKbps", "501")
		p.becomes("folders.made.rescanIntervalS", "51")
		p.rests(fleet.ConfigInSync)
		p.becomes("folders.made.label", `"mine"`)
		p.becomes("options.reconnectionIntervalS", "61")

		p.gone(made)
		p.becomes("options.maxSendKbps", "12345")
		p.becomes("options.maxRecvKbps", "77")
		p.becomes("options.reconnectionIntervalS", "61")
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"folders.made"}, nil)
		p.becomes("folders.made", "absent")
		p.rests(fleet.ConfigUnmanaged)
	})
}

// A template had taken a folder away, and with consent it came back. What was recorded of it stayed: a person who
// removed the folder next was asked whether it is to be made again.
func TestAFolderThatCameBackIsThePersonsToRemove(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.call("POST", "/rest/config/folders", []byte(`{"id": "docs", "path": "~/docs"}`))
		p.rests(fleet.ConfigUnmanaged)
		removes := p.template(10, "remove", "folders", `["docs"]`)
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"folders.docs"}, nil)
		p.rests(fleet.ConfigInSync)
		p.gone(removes)
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"folders.docs"}, nil)
		p.becomes("folders.docs.id", `"docs"`)
		p.rests(fleet.ConfigUnmanaged)
		p.call("DELETE", "/rest/config/folders/docs", nil)
		p.rests(fleet.ConfigUnmanaged)
	})
}
