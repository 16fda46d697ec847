package tunnel_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"muster/internal/adapter/agent"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// A person put nginx with a certificate of its own in front of the port for agents. The agent says that a proxy must
// pass TLS through, and never that the certificate of the proxy is to be pinned.
func TestAnAgentSaysThatAProxyEndsTLS(t *testing.T) {
	t.Parallel()
	w := &world{t: t, stop: func() {}}
	cert, key := server.Certificate(t)
	agents := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	w.daemon = daemon.Start(t, daemon.Options{})
	w.Server = server.Start(t, server.Options{AgentListen: agents, TLSCert: cert, TLSKey: key})
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port)
	ends := fmt.Sprintf("ssl_certificate %s; ssl_certificate_key %s;", cert, key)
	for name, block := range map[string]string{
		"http":  "server { listen %[1]s ssl; " + ends + " location / { proxy_pass https://%[2]s; } }",
		"http2": "server { listen %[1]s ssl http2; " + ends + " location / { proxy_pass https://%[2]s; } }",
		"tcp":   "server { listen %[1]s ssl; " + ends + " proxy_ssl on; proxy_pass %[2]s; }",
	} {
		t.Run(name, func(t *testing.T) {
			at := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
			config := fmt.Sprintf(block, at, agents)
			if name == "tcp" {
				startNginx(t, config, at)
			} else {
				startWebNginx(t, config, at)
			}
			log := &syncBuffer{}
			stop := server.StartAgent(t, agent.Options{Server: "https://" + at, Home: w.daemon.Home, CA: cert,
				Version: "test", Log: slog.New(slog.NewTextHandler(log, nil))})
			defer stop()
			wait.Until(t, func() string {
				if text := log.String(); !strings.Contains(text, "does not speak with agents") ||
					!strings.Contains(text, "must pass TLS through") {
					return "the agent says: " + text
				}
				return ""
			})
			if text := log.String(); strings.Contains(text, "--fingerprint") {
				t.Errorf("the agent has the proxy's certificate pinned: %s", text)
			}
		})
	}
}

// The examples of the document for HTTP work as they are, with no change but files and ports.
func TestProgramsReachTheServerThroughTheProxyOfTheDocument(t *testing.T) {
	t.Parallel()
	t.Run("nginx", func(t *testing.T) {
		t.Parallel()
		reachThrough(t, func(p webProxy) {
			config := fenced(t, "nginx", "location /")
			for _, change := range [][2]string{{"listen 443 ssl", fmt.Sprintf("listen 127.0.0.1:%d ssl", p.secure)},
				{"listen 80", fmt.Sprintf("listen 127.0.0.1:%d", p.plain)}, {"http://127.0.0.1:2525", p.server},
				{"/etc/ssl/muster.example.crt", p.cert}, {"/etc/ssl/muster.example.key", p.key}} {
				config = replaced(t, config, change[0], change[1])
			}
			startWebNginx(t, config, fmt.Sprintf("127.0.0.1:%d", p.secure))
		})
	})
	t.Run("HAProxy", func(t *testing.T) {
		t.Parallel()
		reachThrough(t, func(p webProxy) {
			both := filepath.Join(t.TempDir(), "muster.example.pem")
			write(t, both, read(t, p.cert)+read(t, p.key))
			config := fenced(t, "haproxy", "mode http")
			for _, change := range [][2]string{{"bind :443", fmt.Sprintf("bind 127.0.0.1:%d", p.secure)},
				{"bind :80\n", fmt.Sprintf("bind 127.0.0.1:%d\n", p.plain)}, {"/etc/haproxy/muster.example.pem", both},
				{"127.0.0.1:2525", strings.TrimPrefix(p.server, "http://")}} {
				config = replaced(t, config, change[0], change[1])
			}
			startHAProxy(t, config, fmt.Sprintf("127.0.0.1:%d", p.secure))
		})
	})
}

// webProxy is what a proxy for HTTP needs: its ports and certificate, and the server's URL.
type webProxy struct {
	secure, plain     int
	cert, key, server string
}

// reachThrough starts a server as the document does, with a second port for agents, and reaches it through a proxy.
func reachThrough(t *testing.T, start func(webProxy)) {
	t.Helper()
	const name = "muster.example"
	agents := fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
	s := server.Start(t, server.Options{AllowHosts: []string{name}, AgentListen: agents})
	cert, key := server.Certificate(t, name)
	secure, plain := daemon.FreePort(t), daemon.FreePort(t)
	start(webProxy{secure, plain, cert, key, s.URL})
	own, err := tls.Dial("tcp", agents, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"muster-agent/1"}})
	if err != nil {
		t.Fatalf("the port for agents has no TLS: %v", err)
	}
	_ = own.Close()
	c := through(t, cert, map[string]int{name + ":443": secure, name + ":80": plain})
	ask := func(path string) *http.Response {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+s.Token)
		response, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	if got := ask("https://" + name + "/api/v1/overview"); got.StatusCode != http.StatusOK {
		t.Errorf("got %s", got.Status)
	}
	moved := ask("http://" + name + "/ui/devices")
	to := moved.Header.Get("Location")
	if moved.StatusCode != http.StatusMovedPermanently || to != "https://"+name+"/ui/devices" {
		t.Errorf("got %s to %q", moved.Status, to)
	}
	events := ask("https://" + name + "/api/v1/events") // It is not held back until the stream ends.
	id := fleet.DeviceIDOf([32]byte{1})
	s.Register(id, "key", "127.0.0.1", daemon.FreePort(t))
	for lines := bufio.NewScanner(events.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the events end: %v", lines.Err())
		}
		if strings.Contains(lines.Text(), string(id)) {
			break
		}
	}
}

// startWebNginx starts nginx with servers for HTTP.
func startWebNginx(t *testing.T, config, at string) {
	t.Helper()
	dir := t.TempDir()
	file, text := filepath.Join(dir, "nginx.conf"), &strings.Builder{}
	fmt.Fprintf(text, "pid %[1]s/pid;\nerror_log %[1]s/log;\ndaemon off;\nmaster_process off;\nevents {}\nhttp {\n"+
		"access_log off;\n", dir)
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(text, "%s_temp_path %s/%[1]s;\n", kind, dir)
	}
	write(t, file, text.String()+config+"}\n")
	startProxy(t, at, nginxProgram, "-p", dir, "-e", filepath.Join(dir, "log"), "-c", file)
}

// through is a client that trusts a certificate and finds names at ports of this machine. It follows no redirect.
func through(t *testing.T, cert string, ports map[string]int) *http.Client {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("%s holds no certificate", cert)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", ports[address]))
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// syncBuffer is a buffer that an agent writes to while a test reads it.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

var _ io.Writer = (*syncBuffer)(nil)
