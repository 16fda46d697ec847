package app

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// printed gives on every line that a server prints.
type printed chan string

func (p printed) Write(text []byte) (int, error) {
	p <- string(text)
	return len(text), nil
}

// running starts a server in a home, and stops it. Each change is made to its options.
func running(t *testing.T, home string, changes ...func(*Options)) (a *App, lines printed, stop func()) {
	t.Helper()
	lines = make(printed, 10)
	o := Options{
		Home: home, Listen: "127.0.0.1:0", Configurator: fleet.ModeObserve, DiscoveryServers: []string{"none"},
		Worker: []string{"/bin/cat"}, Log: slog.New(slog.DiscardHandler), Out: lines,
	}
	for _, change := range changes {
		change(&o)
	}
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, lines, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A first start in a terminal prints a link alone on its line. By it a person becomes an administrator, whose session
// and password outlive a restart; after that no link is made.
func TestTheLinkOfAFirstStartMakesAnAdministratorWhoStays(t *testing.T) {
	home := t.TempDir()
	a, lines, stop := running(t, home, watched)
	<-lines
	<-lines
	link, ok := strings.CutSuffix(<-lines, "\n")
	if !ok || !strings.HasPrefix(link, a.URL()+auth.LoginPath) {
		t.Fatalf("got %q, want a link", link)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &browserOfTest{Client: http.Client{Jar: jar}}
	code := strings.TrimPrefix(link, a.URL()+auth.LoginPath)
	const password = "correct horse battery"
	browser.logIn(t, a, url.Values{"code": {code}, "userid": {"root"}, "password": {password}, "repeated": {password}})
	browser.wantName(t, a, "root")
	wantNoLinkFile(t, home, "the link was used")
	stop()

	a, lines, stop = running(t, home, watched)
	browser.wantName(t, a, "root") // Cookies do not know ports.
	browser.logIn(t, a, url.Values{"userid": {"root"}, "password": {password}})
	browser.wantName(t, a, "root")
	wantNoLinkFile(t, home, "an administrator can log in")
	stop()
	close(lines)
	for line := range lines {
		if strings.Contains(line, auth.LoginPath) || strings.Contains(line, fleet.LoginLinkFile) {
			t.Errorf("got %q although an administrator can log in", line)
		}
	}
}

// browserOfTest keeps cookies and the half of a session that the script of a page keeps.
type browserOfTest struct {
	http.Client
	half string
}

var codeInPage = regexp.MustCompile(`data-code="([^"]+)"`)

// logIn sends the form of the log-in page, and exchanges the code in the answer as the script of the page does.
func (b *browserOfTest) logIn(t *testing.T, a *App, form url.Values) {
	t.Helper()
	page := b.text(t, func() (*http.Response, error) { return b.PostForm(a.URL()+"/ui/login", form) })
	code := codeInPage.FindStringSubmatch(page)
	if code == nil {
		t.Fatalf("no code in\n%s", page)
	}
	answer := b.text(t, func() (*http.Response, error) {
		return b.Post(a.URL()+"/api/v1/login/code", "application/json", strings.NewReader(`{"code":"`+code[1]+`"}`))
	})
	var session api.NewSession
	if err := json.Unmarshal([]byte(answer), &session); err != nil || session.Half == "" {
		t.Fatalf("got %s, %v", answer, err)
	}
	b.half = session.Half
}

// wantName checks whose session it is.
func (b *browserOfTest) wantName(t *testing.T, a *App, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+"/api/v1/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(auth.SessionHeader, b.half)
	var who api.Whoami
	text := b.text(t, func() (*http.Response, error) { return b.Do(r) })
	if err := json.Unmarshal([]byte(text), &who); err != nil || who.Name != name || who.Role != "admin" {
		t.Errorf("got %s, %v, want the administrator %s", text, err, name)
	}
}

func (b *browserOfTest) text(t *testing.T, ask func() (*http.Response, error)) string {
	t.Helper()
	resp, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("got %d\n%s\n%v", resp.StatusCode, text, err)
	}
	return string(text)
}
