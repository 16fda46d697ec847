// Package canary_test puts secrets into everything that Muster stores or receives. It then searches for them where
// they must not appear: answers to a viewer, events, notifications, the debug log, the process list, files.
//
//muster:needs daemons
package canary_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// Secrets that were typed in, and what must stay in the log.
const (
	inSecret      = "canary-of-a-secret"
	inPassword    = "canary-of-a-gui-password"
	inTemplate    = "canary-in-a-template"
	inConfig      = "canary-in-a-configuration"
	inHook        = "canary-that-signs-hooks"
	inHookAddress = "canary-in-the-address-of-a-hook"
	inCause       = "canary-in-a-cause"
	inChannel     = "canary-that-signs-for-a-channel"
	inChannelURL  = "canary-in-the-URL-of-a-channel"
	inSink        = "canary-in-a-header-of-a-sink"
	inLogIn       = "canary of a person who logs in"
	inFailedLogIn = "canary-mistyped-for-a-name"
	inBackup      = "canary-that-opens-backups"
)

// planted is a fleet of two real daemons, with a secret in every place that can have one.
type planted struct {
	*server.Server
	t         *testing.T
	daemons   []*daemon.Daemon
	proxies   []*proxy
	templates []int64
	viewer    *client.Client
	token     string // the viewer's
	log       string // the file of the whole log
	hooks     *hooks
	secrets   map[string]string // by what they are
}

func plant(t *testing.T) *planted {
	t.Helper()
	p := &planted{t: t, log: filepath.Join(t.TempDir(), "log"), hooks: newHooks(t)}
	p.Server = server.Start(t, server.Options{LogFile: p.log, ApprovalThreshold: "1", Waves: "1,rest",
		NotifyURLs: []string{p.hooks.url + "/" + inHookAddress}, NotifySecret: inHook, NotifyAfter: time.Millisecond,
		TroubleAfter: time.Millisecond})
	for range 2 {
		p.daemons = append(p.daemons, daemon.Start(t, daemon.Options{}))
	}
	d, other := p.daemons[0], p.daemons[1]
	d.AddPeer(other)
	d.AddFolder("shared", other)
	d.Patch("/rest/config/folders/shared", map[string]any{"devices": []map[string]any{
		{"deviceID": d.ID}, {"deviceID": other.ID, "encryptionPassword": inConfig},
	}})
	for i, one := range p.daemons {
		proxy := newProxy(t, one)
		p.proxies = append(p.proxies, proxy)
		p.Register(one.ID, one.APIKey, "127.0.0.1", proxy.port, "all", fmt.Sprint("only", i))
	}
	for name, value := range map[string]string{"share": inSecret, "gui": inPassword} {
		put := api.PutSecret{Value: &value, Keys: []string{"folders.*.devices.*.encryptionPassword", "gui.password"}}
		if _, _, err := p.Client.PutSecret(t.Context(), name, put); err != nil {
			t.Fatal(err)
		}
	}
	p.tell()
	share := `{"path": "~/%s", "devices": [{"deviceID": %q, "encryptionPassword": %q}]}`
	p.templates = []int64{
		p.Template("merge", "folders.crypt", fmt.Sprintf(share, "crypt", other.ID, "${secret:share}"), "only0"),
		p.Template("merge", "folders.literal", fmt.Sprintf(share, "literal", other.ID, inTemplate), "only0"),
		p.Template("set", "gui.password", `"${secret:gui}"`, "only0"),
	}
	made, err := p.Client.CreateToken(t.Context(), "v", "viewer")
	if err != nil {
		t.Fatal(err)
	}
	p.token = made.Secret
	if p.viewer, err = client.New(p.URL, p.token); err != nil {
		t.Fatal(err)
	}
	session, link := p.people()
	p.secrets = map[string]string{
		"a password of a user": inLogIn, "a mistyped password": inFailedLogIn, "the passphrase of backups": inBackup,
		"the token of a session": session, "the code of a log-in link": link,
		"a named secret": inSecret, "a GUI password": inPassword, "a literal of a template": inTemplate,
		"a password of a configuration": inConfig, "the key of hooks": inHook, "the address of a hook": inHookAddress,
		"the secret of a channel": inChannel, "the URL of a channel": inChannelURL, "a header of a sink": inSink,
		"a cause": inCause, "an API key": d.APIKey, "another API key": other.APIKey, "the administrator's token": p.Token,
		"the viewer's token": p.token,
	}
	return p
}

// tell makes a channel with a route to it, and a sink. Nothing is reached at their addresses.
func (p *planted) tell() {
	p.t.Helper()
	channel := api.PutChannel{
		Type:   new("webhook"),
		URL:    new("https://hooks.invalid/" + inChannelURL),
		Secret: new(inChannel),
	}
	if _, err := p.Client.PutChannel(p.t.Context(), "chat", channel); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.Client.PutRoute(p.t.Context(), "all", api.PutRoute{Channels: &[]string{"chat"}}); err != nil {
		p.t.Fatal(err)
	}
	sink := api.PutSink{Kind: new("http"), Address: new("https://siem.invalid"),
		Headers: map[string]string{"Authorization": "Bearer " + inSink}}
	if _, _, err := p.Client.PutSink(p.t.Context(), "siem", sink); err != nil {
		p.t.Fatal(err)
	}
}

// people has a person log in, another one mistype, and a third be invited. It gives the token of the session and the
// code of the link.
func (p *planted) people() (session, code string) {
	p.t.Helper()
	name, role, password := "anna", "viewer", inLogIn
	anna := api.CreateUser{Name: &name, Role: &role, Password: &password}
	if _, err := p.Client.CreateUser(p.t.Context(), anna); err != nil {
		p.t.Fatal(err)
	}
	anonymous := p.As("")
	made, _, err := anonymous.Login(p.t.Context(), name, inLogIn, "")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, mistyped := range [][2]string{{name, inFailedLogIn}, {inFailedLogIn, name}} {
		if _, _, err := anonymous.Login(p.t.Context(), mistyped[0], mistyped[1], ""); fleet.CodeOf(err) !=
			fleet.CodeUnauthorized {
			p.t.Fatalf("got %v", err)
		}
	}
	link, err := p.Client.CreateLoginLink(p.t.Context(), api.CreateLoginLink{User: &name})
	if err != nil {
		p.t.Fatal(err)
	}
	_, code, _ = strings.Cut(link.Path, "=")
	if len(code) < 20 {
		p.t.Fatalf("the link is %q", link.Path)
	}
	return made.Token, code
}

// apply consents to whatever is held on the first daemon.
func (p *planted) apply() {
	p.t.Helper()
	id := string(p.daemons[0].ID)
	wait.Until(p.t, func() string {
		plan, err := p.Client.DevicePlan(p.t.Context(), id)
		if err != nil {
			return err.Error()
		}
		var held []string
		for _, c := range plan.Changes {
			if c.Class == "held" {
				held = append(held, c.Key)
			}
		}
		state, err := p.Client.ApplyPlan(p.t.Context(), id, api.ApplyPlan{Digest: &plan.Digest, Consent: held})
		if err == nil && state.Configuration == string(fleet.ConfigInSync) && len(state.Waiting) == 0 {
			return ""
		}
		return fmt.Sprintf("%+v, %v", state, err)
	})
}

// found are the secrets that a text holds, without those that it may hold.
func (p *planted) found(text []byte, may ...string) (names []string) {
	for name, secret := range p.secrets {
		if !slices.Contains(may, secret) && bytes.Contains(text, []byte(secret)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestNoPlantedSecretIsFoundAnywhere(t *testing.T) {
	p := plant(t)
	events := p.follow()
	p.apply()
	p.fail()
	for _, proxy := range p.proxies {
		proxy.breakAll()
	}
	for _, d := range p.daemons {
		p.WaitConnection(d.ID, fleet.Unreachable)
	}
	wait.Until(t, func() string {
		if len(p.hooks.all()) > 0 {
			return ""
		}
		return "nobody was notified"
	})
	p.wantHidden("replies to a viewer")
	p.wantHiddenFromOutside()
	p.wantHiddenInABackup()
	if names := p.found(events()); len(names) > 0 {
		t.Errorf("events hold %v", names)
	}
	if names := p.found(p.hooks.all(), inHookAddress); len(names) > 0 {
		t.Errorf("notifications hold %v", names)
	}
	p.Stop()
	p.wantHiddenInFiles("after the end")
}

// fail has a rollout to both daemons fail, with causes that quote what a daemon answered.
func (p *planted) fail() {
	p.t.Helper()
	for _, proxy := range p.proxies {
		proxy.breakWrites()
	}
	p.Template("set", "options.maxSendKbps", "4711", "all")
	wait.Until(p.t, func() string {
		rollouts, err := p.Client.Rollouts(p.t.Context(), client.List{})
		if err != nil || len(rollouts) == 0 {
			return fmt.Sprintf("%d rollouts, %v", len(rollouts), err)
		}
		_, err = p.Client.ApproveRollout(p.t.Context(), rollouts[0].ID)
		if err != nil && fleet.CodeOf(err) != fleet.CodeConflict {
			return err.Error()
		}
		return ""
	})
	wait.Until(p.t, func() string {
		log, err := os.ReadFile(p.log)
		if err != nil {
			return err.Error()
		}
		if !bytes.Contains(log, []byte(inCause)) {
			return "the log does not have the cause: nothing was written to the daemons yet"
		}
		return ""
	})
}

// wantHidden reads as a viewer whatever can be read.
func (p *planted) wantHidden(what string) {
	p.t.Helper()
	replies := 0
	for _, path := range p.paths() {
		status, text := p.get(p.token, path)
		if status == http.StatusOK {
			replies++
		}
		may := []string(nil)
		if strings.Contains(path, "/templates") && !strings.Contains(path, "evaluate") || path == "/api/v1/fleet" {
			may = []string{inTemplate} // the text of a template is shown as it was written; saving it warned of that
		}
		if names := p.found(text, may...); len(names) > 0 {
			p.t.Errorf("%s: GET %s answers %d with %v: %.2000s", what, path, status, names, text)
		}
	}
	for _, path := range []string{"channels", "channels/chat/deliveries", "sinks", "settings", "overview"} {
		status, text := p.get(p.Token, "/api/v1/"+path)
		if names := p.found(text); status != http.StatusOK || len(names) > 0 {
			p.t.Errorf("%s: an administrator's GET %s answers %d with %v", what, path, status, names)
		}
	}
	if replies < 40 {
		p.t.Errorf("%s: %d replies only", what, replies)
	}
	if _, text := p.get(p.Token, "/api/v1/devices"); len(p.found(text)) != 2 {
		p.t.Error("an administrator does not see the API keys: this test would find nothing")
	}
}

func (p *planted) get(token, path string) (int, []byte) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, append(fmt.Append(nil, resp.Header), body...)
}

// paths are all that can be read, of every device, template and so on. Events are followed instead.
func (p *planted) paths() (paths []string) {
	p.t.Helper()
	_, text := p.get(p.token, "/api/v1/openapi.json")
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text[bytes.IndexByte(text, '{'):], &doc); err != nil {
		p.t.Fatal(err)
	}
	values := map[string][]string{
		"{deviceID}": {string(p.daemons[0].ID), string(p.daemons[1].ID)}, "{tag}": {"all", "only0"},
		"{folderID}": {"shared", "crypt", "literal"}, "{rolloutID}": {"1"}, "{orderID}": {"1"},
		"{number}": {"1", "2", "3", "4", "5"}, "{generation}": {"1", "2", "3", "4", "5", "6", "7", "8"},
		"{other}": {"1", "2"}, "{secret}": {"share", "gui"}, "{name}": {"v"}, "{user}": {"anna"}, "{pendingID}": {"x"},
		"{setting}": {"oidcClientSecret"}, "{channel}": {"chat"}, "{sink}": {"siem"},
	}
	for _, id := range p.templates {
		values["{templateID}"] = append(values["{templateID}"], fmt.Sprint(id))
	}
	for path, methods := range doc.Paths {
		if _, reads := methods["get"]; !reads || strings.HasSuffix(path, "/events") {
			continue
		}
		filled := []string{path}
		for name, given := range values {
			filled = each(filled, name, given)
		}
		paths = append(paths, filled...)
	}
	slices.Sort(paths)
	if i := slices.IndexFunc(paths, func(path string) bool { return strings.Contains(path, "{") }); i >= 0 {
		p.t.Fatalf("this test has no value for %s", paths[i])
	}
	return paths
}

// each replaces a name in paths by each of some values.
func each(paths []string, name string, values []string) (filled []string) {
	for _, path := range paths {
		if !strings.Contains(path, name) {
			filled = append(filled, path)
			continue
		}
		for _, value := range values {
			filled = append(filled, strings.ReplaceAll(path, name, value))
		}
	}
	return filled
}

// follow reads the viewer's event stream until its result is asked for.
func (p *planted) follow() (events func() []byte) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL+"/api/v1/events", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	var all bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&all, resp.Body) // ends when the body is closed
	}()
	return func() []byte {
		_ = resp.Body.Close()
		<-done
		if bytes.Count(all.Bytes(), []byte("\ndata:")) < 5 {
			p.t.Errorf("got no events: %s", &all)
		}
		return all.Bytes()
	}
}

// wantHiddenFromOutside looks at what others on the machine could see.
func (p *planted) wantHiddenFromOutside() {
	p.t.Helper()
	processes := 0
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // it has ended
		}
		processes++
		if names := p.found(text); len(names) > 0 {
			p.t.Errorf("%s holds %v: %q", line, names, text)
		}
	}
	if processes == 0 {
		p.t.Error("no process is listed")
	}
	p.wantHiddenInFiles("while it serves")
}

func (p *planted) wantHiddenInFiles(when string) {
	p.t.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	if names := p.found(log, inCause); len(names) > 0 {
		p.t.Errorf("%s the log holds %v", when, names)
	}
	if !bytes.Contains(log, []byte("level=DEBUG")) {
		p.t.Error("the log is not at the level debug")
	}
	entries, err := os.ReadDir(p.Home)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(p.Home, entry.Name()))
		if err != nil {
			continue // a companion of the database that is gone again
		}
		may := ""
		if entry.Name() == "admin-token" {
			may = p.Token
		}
		if names := p.found(text, may); len(names) > 0 {
			p.t.Errorf("%s %s holds %v", when, entry.Name(), names)
		}
	}
}

// hooks keeps all that webhooks were sent.
type hooks struct {
	url string

	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *hooks) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(&h.text, "%v %s\n", r.Header, body)
}

func (h *hooks) all() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.text.Bytes())
}
