package owner_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/test/wait"
)

const ignoresMade = `{"ignoredFolders": [{"id": "made", "label": "hers", "time": "2021-01-01T00:00:00Z"}]}`

// A daemon forgets that a person ignores a folder as soon as a template shares it. The entry did not come back when the
// share went.
func TestAFolderThatAPersonIgnoresIsIgnoredAgainWithoutTheShare(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		p.call("POST", "/rest/config/devices", []byte(fmt.Sprintf(`{"deviceID": %q}`, nora)))
		p.patch("devices/"+string(nora), ignoresMade)
		ignored := "devices." + string(nora) + ".ignoredFolders.made"
		before := p.at(ignored)
		if before == "absent" {
			p.t.Fatal("the daemon ignores nothing")
		}
		p.rests(fleet.ConfigUnmanaged)
		made := p.template(10, "merge", "folders", shared(nora))
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
		if got := p.at(ignored); got != "absent" {
			p.t.Errorf("a shared folder is ignored: %s", got)
		}
		p.change(made, "merge", "folders", shared())
		p.becomes(share(nora), "absent")
		p.becomes(ignored, before)
		p.rests(fleet.ConfigInSync)

		p.change(made, "merge", "folders", shared(nora))
		p.becomes(ignored, "absent")
		p.rests(fleet.ConfigInSync)
		p.gone(made)
		p.rests(fleet.ConfigHeld)
		p.answer([]string{"folders.made"}, nil)
		p.becomes(ignored, before)
		p.rests(fleet.ConfigUnmanaged)
	})
}

// A template that has a device ignore a folder that is shared is overruled by the daemon: it is said, and not written.
// Once the share goes, the folder is ignored.
func TestAFolderIsIgnoredOnceItIsNotShared(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		ignored := "devices." + string(nora) + ".ignoredFolders.made"
		made := p.template(10, "merge", "folders", shared(nora))
		p.template(20, "merge", "devices", fmt.Sprintf("[{deviceID: %q}]", nora))
		p.template(30, "append", strings.TrimSuffix(ignored, ".made"), `[{"id": "made"}]`)
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		wait.Until(p.t, func() string { // the template that ignores may not be planned yet
			if text := changes(p.rests(fleet.ConfigInSync)); !strings.Contains(text, "skipped "+ignored) {
				return "the plan does not say that the daemon ignores no shared folder" + text
			}
			return ""
		})
		p.change(made, "merge", "folders", shared())
		p.becomes(ignored+".id", `"made"`)
		p.rests(fleet.ConfigInSync)
		if got := p.at(share(nora)); got != "absent" {
			p.t.Errorf("the folder is still shared: %s", got)
		}

		p.change(made, "merge", "folders", shared(nora))
		p.becomes(ignored, "absent")
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
	})
}

// A daemon forgets that a person ignores a device as soon as a template adds it. The entry did not come back when the
// device went.
func TestADeviceThatAPersonIgnoresIsIgnoredAgainWhenItGoes(t *testing.T) {
	t.Parallel()
	onEach(t, func(p *place) {
		ignored, device := "remoteIgnoredDevices."+string(nora), "devices."+string(nora)
		entry := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(nora))},
			stconfig.Member{Name: "name", Value: stconfig.Text("hers")},
			stconfig.Member{Name: "time", Value: stconfig.Text("2021-01-01T00:00:00Z")})
		p.whole(p.doc().With("remoteIgnoredDevices", stconfig.List(entry)))
		before := p.at(ignored)
		if before == "absent" {
			p.t.Fatal("the daemon ignores nothing")
		}
		p.rests(fleet.ConfigUnmanaged)
		made := p.template(10, "merge", "folders", shared(nora)) // which brings the device along
		p.becomes(device+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
		if got := p.at(ignored); got != "absent" {
			p.t.Errorf("a device that is there is ignored: %s", got)
		}
		p.change(made, "merge", "folders", shared())
		p.becomes(device, "absent")
		p.becomes(ignored, before)
		p.rests(fleet.ConfigInSync)

		p.change(made, "merge", "devices", fmt.Sprintf("[{deviceID: %q}]", nora))
		p.becomes(ignored, "absent")
		p.rests(fleet.ConfigHeld) // the folder
		p.answer([]string{"folders.made"}, nil)
		p.rests(fleet.ConfigInSync)
		p.gone(made)
		p.rests(fleet.ConfigHeld)
		p.answer([]string{device}, nil)
		p.becomes(ignored, before)
		p.rests(fleet.ConfigUnmanaged)
	})
}
