package guard_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// A theme that leads out of the directory of themes had a daemon without a GUI password hand its configuration and its
// key to anybody. Muster refuses such a theme for every role, and the daemon serves nothing of its home. A second
// daemon whose theme somebody set by hand shows that it would.
func TestADaemonServesNothingOfItsHomeAfterARefusedTheme(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	author := as(t, s, fleet.RoleAuthor)
	options := daemon.Options{HomeBelow: "syncthing"}
	d, byHand := daemon.Start(t, options), daemon.Start(t, options)
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "office")
	waitRead(t, s, d.ID)
	for _, by := range []*server.Server{author, s} {
		for _, theme := range []string{`"../.."`, `".."`, `"../../syncthing"`} {
			id := by.Template("set", "gui.theme", theme, "office")
			s.WaitState(d.ID, "refused: "+theme, func(state api.DeviceState) bool {
				return strings.Contains(state.Reason, "theme")
			})
			if served := servedOfHome(t, d); served != "" {
				t.Errorf("theme %s is refused, and the daemon serves %s", theme, served)
			}
			if err := s.Client.DeleteTemplate(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
		}
	}
	if served := servedOfHome(t, d); served != "" {
		t.Errorf("the daemon serves %s", served)
	}
	target{id: byHand.ID, key: byHand.APIKey, host: byHand.Address, port: byHand.Port}.must(t, http.MethodPatch,
		"/rest/config/gui", `{"theme": "../.."}`)
	wait.Until(t, func() string { // The GUI starts anew with its theme.
		if served, err := readOfHome(t, byHand); served == "" {
			return fmt.Sprintf("a daemon with such a theme serves nothing either: this proves nothing (%v)", err)
		}
		return ""
	})
}

func servedOfHome(t *testing.T, d *daemon.Daemon) string {
	t.Helper()
	served, err := readOfHome(t, d)
	if err != nil {
		t.Fatal(err)
	}
	return served
}

// readOfHome returns the path of a file in a daemon's home that its GUI gives to somebody without a key. It
// returns "" if there is no such file.
func readOfHome(t *testing.T, d *daemon.Daemon) (string, error) {
	t.Helper()
	for _, name := range []string{"config.xml", "key.pem", "cert.pem"} {
		for _, path := range []string{name, "syncthing/" + name} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.HostPort()+"/"+path, nil)
			if err != nil {
				return "", err
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return "", err
			}
			text, err := io.ReadAll(answer.Body)
			if err := errors.Join(err, answer.Body.Close()); err != nil {
				return "", err
			}
			if strings.Contains(string(text), "<configuration") || strings.Contains(string(text), "-----BEGIN") {
				return path, nil
			}
		}
	}
	return "", nil
}
