package cli

import (
	"strings"
	"testing"

	"muster/api"
)

// browsed is a server with a device, its configuration and what templates manage of it.
func browsed(t *testing.T) (address string, asked map[string]string) {
	t.Helper()
	one := "devices/" + idNAS
	return serving(t, map[string]any{one: api.Device{DeviceID: idNAS, Label: "nas"}, "devices": []api.Device{},
		one + "/config": raw(`{"folders":[{"id":"a.b","path":"/team","paused":true}],` +
			`"options":{"maxSendKbps":5,"natEnabled":true},"gui":{"apiKey":"[secret]"}}`),
		one + "/config/managed": []api.ManagedKey{{Key: `folders."a.b"`, Owner: "template", Templates: []int64{3, 4}},
			{Key: `folders."a.b".paused`, Owner: "daemon", Templates: []int64{}}},
		one + "/plan": api.Plan{Changes: []api.PlannedChange{{Key: "options.maxSendKbps", Class: "held", Drift: true},
			{Key: "options.natEnabled", Class: "skipped"}}},
		one + "/why": api.Why{Key: "options.natEnabled", Value: raw("true"), Observed: raw("true"),
			Reason: "no template asks for it: it is the default of Syncthing"},
		"templates": []api.Template{{ID: 4, Label: "Team"}}})
}

func TestAConfigurationIsSearchedByKeyAndByWords(t *testing.T) {
	address, _ := browsed(t)
	for args, want := range map[string][]string{
		`folders."a.b"`: {`folders."a.b".id      a.b    template 4 Team                  -`,
			`folders."a.b".path    /team  template 4 Team                  -`,
			`folders."a.b".paused  true   the daemon, in what Muster made  -`},
		"TRUE options":       {"options.natEnabled  true   -     -"},
		"options":            {"options.maxSendKbps  5      -     held, drift", "options.natEnabled   true   -     -"},
		"--managed path":     {`folders."a.b".path  /team  template 4 Team  -`},
		"--waiting":          {"options.maxSendKbps  5      -     held, drift"},
		"apikey":             {"gui.apiKey  [secret]  -     -"},
		"-o name natenabled": {"options.natEnabled"},
	} {
		words := append([]string{"device", "config", idNAS}, strings.Fields(args)...)
		code, out, errs := run(t, append(words, "--server", address, "--token", "x")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if !strings.HasPrefix(args, "-o") {
			lines = lines[1:]
		}
		var got []string
		for _, line := range lines {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		for i := range want {
			want[i] = strings.Join(strings.Fields(want[i]), " ")
		}
		quotesAside := strings.NewReplacer(`"`, "")
		if code != exitDone || errs != "" ||
			quotesAside.Replace(strings.Join(got, "\n")) != quotesAside.Replace(strings.Join(want, "\n")) {
			t.Errorf("%s: got %d and\n%s%swant\n%s", args, code, out, errs, strings.Join(want, "\n"))
		}
	}
}

func TestKeysOfAConfigurationAreExplained(t *testing.T) {
	address, asked := browsed(t)
	code, out, errs := run(t, "device", "config", idNAS, "natEnabled", "--why", "--server", address, "--token", "x")
	const want = "options.natEnabled on nas (P56IOI7): true\n" +
		"  No template asks for it: it is the default of Syncthing.\n"
	if code != exitDone || errs != "" || out != want || asked["devices/"+idNAS+"/why"] != "key=options.natEnabled" {
		t.Errorf("got %d and\n%s%swant\n%s", code, out, errs, want)
	}
	code, _, errs = run(t, "device", "config", idNAS, "nothing-of-this", "--server", address, "--token", "x")
	if code == exitDone || !strings.Contains(errs, "no key of the configuration matches") {
		t.Errorf("got %d and %s", code, errs)
	}
	code, out, _ = run(t, "device", "config", idNAS, "--server", address, "--token", "x")
	if code != exitDone || !strings.HasPrefix(out, "{\n") {
		t.Errorf("a whole configuration: got %d and %s", code, out)
	}
	code, _, errs = run(t, "config", "nas", "--server", address)
	if code != exitUsage || !strings.Contains(errs, "muster device config 'nas'") {
		t.Errorf("got %d and %s", code, errs)
	}
}
