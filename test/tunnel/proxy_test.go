package tunnel_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/adapter/agent"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// proxied is a server behind proxies that pass TLS through.
type proxied struct {
	*world
	agents string // HOST:PORT for agents, behind the proxy
	web    string // HOST:PORT of what ends TLS for browsers, behind the proxy
}

// The examples of the document let a real agent through, with no change but the ports.
func TestAgentsConnectThroughTheProxiesOfTheDocument(t *testing.T) {
	t.Parallel()
	w := &world{t: t, stop: func() {}}
	var key string
	w.cert, key = server.Certificate(t)
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "what browsers see")
	}))
	t.Cleanup(web.Close)
	p := &proxied{w, fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t)), web.Listener.Addr().String()}
	w.daemon = daemon.Start(t, daemon.Options{})
	w.Server = server.Start(t, server.Options{AgentListen: p.agents, TLSCert: w.cert, TLSKey: key})
	t.Cleanup(func() { w.stop() })
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port)
	for _, c := range []struct {
		name, example, port string
		start               func(t *testing.T, config, at string)
		shared              bool // with browsers
	}{
		{"HAProxy by protocol", example(t, "frontend tls"), ":443", startHAProxy, true},
		{"HAProxy by port", example(t, "frontend agents"), ":2527", startHAProxy, false},
		{"nginx by protocol", example(t, "map $ssl_preread_alpn_protocols"), " 443", startNginx, true},
		{"nginx by port", example(t, "server {"), " 2527", startNginx, false},
		{"HAProxy of the page of proxies", fenced(t, "haproxy", "mode tcp"), ":2527", startHAProxy, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			port := fmt.Sprint(daemon.FreePort(t))
			config := c.example
			config = replaced(t, config, c.port, c.port[:1]+port)
			config = replaced(t, config, "127.0.0.1:2526", p.agents)
			if c.shared {
				config = replaced(t, config, "127.0.0.1:8443", p.web)
			}
			at := "127.0.0.1:" + port
			c.start(t, config, at)
			if c.shared {
				p.browse(at)
			}
			p.connect(at)
		})
	}
}

// example is the indented text of the page of the agent that begins with a line.
func example(t *testing.T, first string) string {
	t.Helper()
	_, rest, found := strings.Cut(read(t, "../../docs/agent.md"), "\n\n    "+first)
	text, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("docs/agent.md has no example that begins with %q", first)
	}
	return "    " + first + text + "\n"
}

// fenced is the first block of code of the page of proxies that is in a language and has some words.
func fenced(t *testing.T, language, words string) string {
	t.Helper()
	rest, found := read(t, "../../docs/proxies.md"), true
	for found {
		if _, rest, found = strings.Cut(rest, "\n```"+language+"\n"); found {
			text, after, _ := strings.Cut(rest, "\n```\n")
			if strings.Contains(text, words) {
				return text + "\n"
			}
			rest = after
		}
	}
	t.Fatalf("docs/proxies.md has no block of %s with %q", language, words)
	return ""
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func replaced(t *testing.T, config, old, with string) string {
	t.Helper()
	if !strings.Contains(config, old) {
		t.Fatalf("the example has no %q:\n%s", old, config)
	}
	return strings.ReplaceAll(config, old, with)
}

// browse gets the page of browsers through the proxy.
func (p *proxied) browse(at string) {
	p.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Get("https://" + at)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "what browsers see" {
		p.t.Errorf("a browser gets %q, %v", text, err)
	}
}

// connect has the daemon managed by an agent that knows nothing but the proxy.
func (p *proxied) connect(at string) {
	p.t.Helper()
	p.stop = server.StartAgent(p.t, agent.Options{Server: "https://" + at, Home: p.daemon.Home, CA: p.cert,
		Version: "test", Log: slog.New(slog.DiscardHandler)})
	p.waitFoundBy(fleet.FoundByAgent)
	p.stop()
	p.stop = func() {}
	p.WaitConnection(p.daemon.ID, fleet.Unreachable)
}

const (
	haproxyProgram = "/usr/sbin/haproxy"
	nginxProgram   = "/usr/sbin/nginx"
	nginxStream    = "/usr/lib/nginx/modules/ngx_stream_module.so"
)

func startHAProxy(t *testing.T, config, at string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	write(t, file, config)
	startProxy(t, at, haproxyProgram, "-db", "-f", file)
}

func startNginx(t *testing.T, config, at string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	write(t, file, fmt.Sprintf("load_module %s;\npid %s/pid;\nerror_log %s/log;\ndaemon off;\nmaster_process off;\n"+
		"events {}\nstream {\n%s}\n", nginxStream, dir, dir, config))
	startProxy(t, at, nginxProgram, "-p", dir, "-e", filepath.Join(dir, "log"), "-c", file)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startProxy waits until the proxy accepts connections. A shell ends it when the test does, also when the test is
// killed: the shell then reads the end of its input.
func startProxy(t *testing.T, at string, command ...string) {
	t.Helper()
	process := exec.Command("sh",
		append([]string{"-c", `"$@" & p=$!; read end; kill $p; wait $p`, "sh"}, command...)...)
	log := &strings.Builder{}
	process.Stdout, process.Stderr = log, log
	input, err := process.StdinPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = process.Wait() // ends by the signal
		if t.Failed() {
			t.Logf("%s: %s", command[0], log)
		}
	})
	wait.Until(t, func() string {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return fmt.Sprintf("%s does not listen: %v", command[0], err)
		}
		_ = conn.Close()
		return ""
	})
}
