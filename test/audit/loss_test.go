package audit_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

var acceptLoss = regexp.MustCompile("`muster (audit accept-loss \\d+)`")

// An older database file put back revived a deleted admin token, and nothing said so.
func TestAnOlderDatabaseFileIsOnlyObservedUntilAnAdminAcceptsTheLoss(t *testing.T) {
	s := server.Start(t, server.Options{})
	stolen, err := s.Client.CreateToken(t.Context(), "stolen", "admin")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	older := files(t, s.Home)
	s = server.Start(t, server.Options{Home: s.Home})
	if out, code := muster(t, s, "token", "delete", "stolen", "--yes"); code != 0 {
		t.Fatalf("delete ended with %d: %s", code, out)
	}
	s.Stop()
	putBack(t, s.Home, older)
	s = server.Start(t, server.Options{Home: s.Home})
	thief := s.As(stolen.Secret)
	var refused *client.Error
	if _, err := thief.Whoami(t.Context()); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("the token came back with the database: %v", err)
	}
	s.Stop()
	if out, code := run(t, "admin", "reset", "--home", s.Home); code != 0 {
		t.Fatalf("reset ended with %d: %s", code, out)
	}
	s = server.Start(t, server.Options{Home: s.Home})
	status, code := muster(t, s, "status")
	found := acceptLoss.FindStringSubmatch(status)
	if code != 3 || found == nil || !strings.Contains(status, "Nothing is written to daemons") {
		t.Fatalf("status ended with %d: %s", code, status)
	}
	if out, code := muster(t, s, "resume"); code == 0 {
		t.Errorf("resume ended with %d: %s", code, out)
	}
	if out, code := muster(t, s, "audit", "verify"); code != 3 || !strings.Contains(out, "missing") {
		t.Errorf("verify ended with %d: %s", code, out)
	}
	entry, _ := strconv.ParseInt(strings.Fields(found[1])[2], 10, 64)
	if _, err := s.Client.AcceptLoss(t.Context(), api.AcceptLoss{Entry: entry}); !errors.As(err, &refused) ||
		refused.Status != http.StatusForbidden {
		t.Errorf("the loss is accepted without the code of the home: %v", err)
	}
	if out, code := muster(t, s, strings.Fields(found[1])...); code != 0 || !strings.Contains(out, "Accepted: ") {
		t.Errorf("accept-loss ended with %d: %s", code, out)
	}
	if out, code := muster(t, s, "token", "delete", "stolen", "--yes"); code != 0 {
		t.Errorf("delete ended with %d: %s", code, out)
	}
	s.Stop()
	s = server.Start(t, server.Options{Home: s.Home})
	wait.Until(t, func() string {
		if out, _ := muster(t, s, "status"); strings.Contains(out, "accept-loss") {
			return "once the loss is accepted status says " + out
		}
		return ""
	})
	if out, code := muster(t, s, "resume"); code != 0 {
		t.Errorf("once the loss is accepted resume ends with %d: %s", code, out)
	}
}

// A user was created after the copy was made. So nobody of the older database logs in, and the administrator's token,
// whose table is as it was, leads back: the loss is accepted, and the user made again.
func TestWhoIsLockedOutByAnOlderDatabaseIsLetInByTheTokenOfTheHome(t *testing.T) {
	const password = "correct horse battery"
	anna := api.CreateUser{Name: new("anna"), Role: new("admin"), Password: new(password)}
	s := server.Start(t, server.Options{})
	if _, err := s.Client.CreateUser(t.Context(), anna); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	older := files(t, s.Home)
	s = server.Start(t, server.Options{Home: s.Home})
	if _, err := s.Client.CreateUser(t.Context(), api.CreateUser{Name: new("bert"), Role: new("viewer"),
		Password: new(password)}); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	putBack(t, s.Home, older)
	s = server.Start(t, server.Options{Home: s.Home})
	if _, _, err := s.As("").Login(t.Context(), "anna", password, ""); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("anna of the older database logs in, or: %v", err)
	}
	status, _ := muster(t, s, "status")
	found := acceptLoss.FindStringSubmatch(status)
	if found == nil {
		t.Fatalf("status says %s", status)
	}
	for _, command := range []string{found[1], "user delete anna --yes"} {
		if out, code := muster(t, s, strings.Fields(command)...); code != 0 {
			t.Fatalf("%s ended with %d: %s", command, code, out)
		}
	}
	if _, err := s.Client.CreateUser(t.Context(), anna); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.As("").Login(t.Context(), "anna", password, ""); err != nil {
		t.Errorf("anna was made again, and does not log in: %v", err)
	}
	if out, code := muster(t, s, "resume"); code != 0 {
		t.Errorf("resume ends with %d: %s", code, out)
	}
}

// putBack replaces the files of the database by those of an earlier moment.
func putBack(t *testing.T, home string, older map[string][]byte) {
	t.Helper()
	for name := range files(t, home) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range older {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files are those of the database, with their content.
func files(t *testing.T, home string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(home, "muster.db*"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
