package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// printed gives on every line that a server prints.
type printed chan string

func (p printed) Write(text []byte) (int, error) {
	p <- string(text)
	return len(text), nil
}

// running starts a server in a home, and stops it.
func running(t *testing.T, home string) (a *App, lines printed, stop func()) {
	t.Helper()
	lines = make(printed, 10)
	a, err := New(t.Context(), Options{
		Home: home, Listen: "127.0.0.1:0", Configurator: fleet.ModeObserve, DiscoveryServers: []string{"none"},
		Worker: []string{"/bin/cat"}, Log: slog.New(slog.DiscardHandler), Out: lines,
	})
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

// A first start prints a link alone on its line. By it a person becomes an administrator, whose session and password
// outlive a restart; after that no link is printed.
func TestTheLinkOfAFirstStartMakesAnAdministratorWhoStays(t *testing.T) {
	home := t.TempDir()
	a, lines, stop := running(t, home)
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
	browser := &http.Client{Jar: jar}
	code := strings.TrimPrefix(link, a.URL()+auth.LoginPath)
	const password = "correct horse battery"
	wantPage(t, browser, a.URL()+"/ui/login", url.Values{"code": {code}, "userid": {"root"}, "password": {password},
		"repeated": {password}}, "<strong>root</strong> with the role admin")
	stop()

	a, lines, stop = running(t, home)
	wantPage(t, browser, a.URL()+"/", nil, "<strong>root</strong>") // cookies do not know ports
	wantPage(t, browser, a.URL()+"/ui/logout", url.Values{}, "Log in")
	wantPage(t, browser, a.URL()+"/ui/login", url.Values{"userid": {"root"}, "password": {password}},
		"<strong>root</strong>")
	stop()
	close(lines)
	for line := range lines {
		if strings.Contains(line, auth.LoginPath) {
			t.Errorf("got %q although an administrator can log in", line)
		}
	}
}

// wantPage sends a form, or asks for a page without one, and checks what the page says that this leads to.
func wantPage(t *testing.T, browser *http.Client, at string, form url.Values, says string) {
	t.Helper()
	ask := func() (*http.Response, error) { return browser.Get(at) }
	if form != nil {
		ask = func() (*http.Response, error) { return browser.PostForm(at, form) }
	}
	resp, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), says) {
		t.Errorf("%s: got %d\n%s\n%v, want %q", at, resp.StatusCode, text, err, says)
	}
}
