package browser_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // as WebSocket has it
	"crypto/tls"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

//go:embed attack.js
var attackScript string

// serveHTML serves a page with the attack; below /sandboxed its origin is none.
func serveHTML(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/sandboxed" {
		w.Header().Set("Content-Security-Policy", "sandbox allow-scripts allow-forms")
	}
	fmt.Fprintf(w, "<!doctype html><body><p>attack<script>%s</script>", attackScript)
}

// attacker serves the attack under a name, on a port of its own.
func (w *world) attacker(t *testing.T, name string) (address string) {
	t.Helper()
	return w.serve(t, name, http.HandlerFunc(serveHTML)) + "/"
}

func (w *world) serve(t *testing.T, name string, handler http.Handler) (origin string) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{w.certificate}}
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "https://" + net.JoinHostPort(name, at.Port())
}

// reads are paths that an administrator can read.
var reads = []string{"/ui/", "/api/v1/devices", "/api/v1/events"}

// write is a request that would change something as an administrator.
type write struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Body   string `json:"body"`
}

func writes() []write {
	id := string(fleet.DeviceIDOf([32]byte{9}))
	return []write{
		{"POST", "/api/v1/templates", `{"label":"attack","op":"set","key":"options.natEnabled","template":"true"}`},
		{"PUT", "/api/v1/devices/" + id, `{"apiKey":"attack","apiAddress":"127.0.0.1","apiPort":1,"label":"attack"}`},
		{"PUT", "/api/v1/devices/" + id + "/tags/attack", ""},
		{"POST", "/api/v1/users", `{"name":"attack","role":"admin","password":"` + password + `"}`},
		{"POST", "/api/v1/login-links", `{}`},
		{"DELETE", "/api/v1/users/bystander", ""},
		{"PUT", "/api/v1/configurator", `{"mode":"paused"}`},
		{"POST", "/api/v1/logout", `{}`},
		{"POST", "/ui/logout", "x=1"},
		{"POST", "/ui/login", "userid=bystander&password=" + url.QueryEscape(password)},
	}
}

// state is what the writes would change.
func (w *world) state(t *testing.T) string {
	t.Helper()
	var all struct {
		Devices   []api.Device
		Templates []api.Template
		Users     []string
		Mode      string
		Tokens    []string
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	all.Devices, err = w.Client.Devices(t.Context(), client.List{})
	check(err)
	all.Templates, err = w.Client.Templates(t.Context(), client.List{})
	check(err)
	users, err := w.Client.Users(t.Context())
	check(err)
	for _, user := range users {
		all.Users = append(all.Users, user.Name+" "+user.Role)
	}
	tokens, err := w.Client.Tokens(t.Context())
	check(err)
	for _, token := range tokens {
		all.Tokens = append(all.Tokens, token.Name)
	}
	overview, err := w.Client.Overview(t.Context())
	check(err)
	all.Mode = overview.Mode
	text, err := json.Marshal(all)
	check(err)
	return string(text)
}

// attack runs in the page of a tab, and gives what it could read of an origin.
func (b tab) attack(origin string) map[string]string {
	b.t.Helper()
	text := func(v any) string {
		encoded, err := json.Marshal(v)
		if err != nil {
			b.t.Fatal(err)
		}
		return string(encoded)
	}
	if tried := eval[int](b, fmt.Sprintf("change(%s, %s)", text(origin), text(writes()))); tried != len(writes()) {
		b.t.Errorf("%d of %d writes were tried", tried, len(writes()))
	}
	return eval[map[string]string](b, fmt.Sprintf("read(%s, %s)", text(origin), text(reads)))
}

// post has the whole page send a form, as a click on a button does.
func (b tab) post(to, body string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		const form = document.createElement("form");
		form.method = "post";
		form.action = %q;
		for (const [name, value] of new URLSearchParams(%q)) {
			const field = document.createElement("input");
			field.name = name;
			field.value = value;
			form.append(field);
		}
		document.body.replaceChildren(form);
		setTimeout(() => form.submit());
		return true;
	})()`, to, body))
}

func (w *world) victim(t *testing.T, name string) tab {
	t.Helper()
	w.user(t, name, fleet.RoleAdmin)
	b := w.tab(t)
	b.login(w, name)
	return b
}

func attackFromOtherOrigins(t *testing.T, w *world) {
	w.user(t, "bystander", fleet.RoleViewer)
	b := w.victim(t, "attacked")
	before := w.state(t)
	for name, from := range map[string]string{
		"another site":        w.attacker(t, foreignName),
		"a sibling":           w.attacker(t, siblingName),
		"another port":        w.attacker(t, ownName),
		"a page of no origin": w.attacker(t, ownName) + "sandboxed",
	} {
		b.do(chromedp.Navigate(from))
		if found := b.attack(w.origin); len(found) > 0 {
			t.Errorf("%s read %v", name, found)
		}
		b.do(chromedp.Navigate(from))
		b.post(w.origin+"/ui/logout", "x=1")
		b.wait("body:not(:has(form)):not(:has(script))")
		if text := b.text(); !strings.Contains(text, "a page of another site may not change anything here") {
			t.Errorf("%s: a form is answered with %q", name, text)
		}
	}
	if after := w.state(t); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(logoutForm)
	if text := b.text(); !strings.Contains(text, "attacked with the role admin") {
		t.Errorf("the victim's page shows %q", text)
	}
}

// rebinding is a port that leads to one server and later to another, as the address of a name can be changed.
type rebinding struct {
	net.Listener
	mu    sync.Mutex
	to    string              // guarded by mu
	conns map[net.Conn]string // guarded by mu; to which server
}

func rebind(t *testing.T, to string) *rebinding {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rebinding{Listener: plain, to: to, conns: map[net.Conn]string{}}
	t.Cleanup(func() { r.lead(""); _ = plain.Close() })
	go func() {
		for {
			conn, err := plain.Accept()
			if err != nil {
				return
			}
			go r.pass(conn)
		}
	}()
	return r
}

// lead has new connections go to a server, and ends the others.
func (r *rebinding) lead(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for conn := range r.conns {
		_ = conn.Close()
	}
}

func (r *rebinding) pass(from net.Conn) {
	defer from.Close()
	r.mu.Lock()
	at := r.to
	r.conns[from] = at
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.conns, from)
		r.mu.Unlock()
	}()
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", at)
	if err != nil {
		return
	}
	defer to.Close()
	go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
	_, _ = io.Copy(from, to)
}

// hostOf is where an origin is on this machine.
func hostOf(t *testing.T, origin string) string {
	t.Helper()
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", at.Port())
}

// The page comes from the attacker, then its name leads to Muster: to the browser both are one origin.
func attackFromAReboundName(t *testing.T, w *world) {
	b := w.victim(t, "rebound")
	before := w.state(t)
	name := rebind(t, hostOf(t, w.attacker(t, reboundName)))
	_, port, err := net.SplitHostPort(name.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	origin := "https://" + net.JoinHostPort(reboundName, port)
	b.do(chromedp.Navigate(origin + "/"))
	name.lead(hostOf(t, w.URL))
	found := b.attack(origin)
	if len(found) == 0 {
		t.Error("the name does not lead to the server: this test would find nothing")
	}
	for way, text := range found {
		if !strings.Contains(text, "this server is not called") {
			t.Errorf("%s reads %s", way, text)
		}
	}
	b.do(chromedp.Navigate(origin + "/ui/login"))
	if text := b.text(); !strings.Contains(text, "this server is not called") {
		t.Errorf("the log-in page has another name: %q", text)
	}
	if after := w.state(t); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(logoutForm)
}

// openServer lets every origin read, and counts what would change something.
type openServer struct {
	mu    sync.Mutex
	wrote map[string]int // guarded by mu; by method and type of the body
}

func (s *openServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Allow-Headers", "content-type, x-attack")
	header.Set("Access-Control-Allow-Methods", "PUT, DELETE, POST, GET")
	if r.Method != http.MethodGet && r.Method != http.MethodOptions {
		kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		s.mu.Lock()
		s.wrote[r.Method+" "+kind]++
		s.mu.Unlock()
	}
	switch {
	case r.Header.Get("Upgrade") == "websocket":
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
			"Sec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(sum[:]))
		_ = conn.Close()
	case r.Header.Get("Accept") == "text/event-stream":
		header.Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: x\n\n")
	case r.Header.Get("Sec-Fetch-Dest") == "image":
		header.Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>`)
	case r.Header.Get("Sec-Fetch-Dest") == "script":
		header.Set("Content-Type", "text/javascript")
	default:
		fmt.Fprint(w, "read")
	}
}

// What the attack does not find at Muster it finds at a server that guards nothing.
func attackAnOpenServer(t *testing.T, w *world) {
	open := &openServer{wrote: map[string]int{}}
	origin := w.serve(t, ownName, open)
	b := w.tab(t)
	b.do(chromedp.Navigate(w.attacker(t, foreignName)))
	found := b.attack(origin)
	for _, way := range []string{"fetch", "fetchWithHeader", "image", "script", "events", "socket"} {
		if found[way+" /api/v1/devices"] == "" {
			t.Errorf("%s reads nothing", way)
		}
	}
	for _, what := range []string{"POST application/json", "POST text/plain", "POST application/x-www-form-urlencoded",
		"PUT application/json", "PUT text/plain", "DELETE application/json"} {
		if open.wrote[what] == 0 {
			t.Errorf("no %s arrived: %v", what, open.wrote)
		}
	}
	same := w.tab(t)
	rebound := rebind(t, hostOf(t, w.attacker(t, reboundName)))
	_, port, err := net.SplitHostPort(rebound.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	at := "https://" + net.JoinHostPort(reboundName, port)
	same.do(chromedp.Navigate(at + "/"))
	rebound.lead(hostOf(t, origin))
	found = same.attack(at)
	for _, way := range []string{"opaque", "frame"} {
		if found[way+" /api/v1/devices"] == "" {
			t.Errorf("%s reads nothing of a rebound name: %v", way, found)
		}
	}
}
