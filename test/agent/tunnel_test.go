//muster:needs daemons
package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// agentVariable is set where this process is `muster` with the arguments it has.
const agentVariable = "MUSTER_TEST_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(agentVariable) != "" {
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, "test")
		cancel()
		os.Exit(code)
	}
	server.Main()
	os.Exit(m.Run())
}

// world is a manager, a daemon that only an agent reaches, and the agent.
type world struct {
	*testing.T
	namespace *daemon.Namespace // nil: all are on loopback
	host      string            // address of this machine for the daemon and its agent
	options   server.Options
	server    *server.Server
	daemon    *daemon.Daemon
	runtime   string // of the agent
	agent     *exec.Cmd
	log       string // file
}

func newWorld(t *testing.T) *world {
	t.Helper()
	namespace, err := daemon.NewNamespace(t)
	if err != nil {
		t.Logf("no namespace (%v): daemon and agent are on loopback", err)
		return newWorldIn(t, nil)
	}
	t.Logf("daemon and agent are in the network namespace %s", namespace.Name)
	return newWorldIn(t, namespace)
}

func newWorldIn(t *testing.T, namespace *daemon.Namespace) *world {
	t.Helper()
	return newWorldWith(t, namespace, server.Options{})
}

// newWorldWith is newWorldIn with options of the server. Its home and its port for agents are made here.
func newWorldWith(t *testing.T, namespace *daemon.Namespace, o server.Options) *world {
	t.Helper()
	w := &world{T: t, options: o, host: "127.0.0.1", namespace: namespace, runtime: t.TempDir(),
		log: filepath.Join(t.TempDir(), "agent.log")}
	if namespace != nil {
		w.host = namespace.Host
	}
	w.options.Home, w.options.AgentListen = t.TempDir(), fmt.Sprintf("%s:%d", w.host, daemon.FreePort(t))
	w.server = server.Start(t, w.options)
	w.daemon = daemon.Start(t, daemon.Options{Namespace: w.namespace})
	t.Cleanup(func() {
		w.killAgent()
		if t.Failed() {
			text, _ := os.ReadFile(w.log)
			t.Logf("the agent's log:\n%s", text)
		}
	})
	return w
}

// startAgent starts `muster agent` beside the daemon.
func (w *world) startAgent(more ...string) {
	w.Helper()
	args := append([]string{"agent", "--server", w.options.AgentListen, "--home", w.daemon.Home, "--fingerprint",
		w.fingerprint(), "--log-level", "debug"}, more...)
	w.agent = w.namespace.Command(os.Args[0], args...)
	w.agent.Env = w.environment()
	w.agent.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	defer log.Close()
	w.agent.Stdout, w.agent.Stderr = log, log
	if err := w.agent.Start(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) killAgent() {
	if w.agent != nil {
		_ = w.agent.Process.Kill()
		_ = w.agent.Wait()
		w.agent = nil
	}
}

func (w *world) environment() []string {
	return []string{agentVariable + "=1", "HOME=" + w.daemon.UserHome, "XDG_RUNTIME_DIR=" + w.runtime,
		"PATH=" + os.Getenv("PATH")}
}

// status is what `muster agent status` prints on the daemon's machine.
func (w *world) status() string {
	ask := exec.Command(os.Args[0], "agent", "status")
	ask.Env = w.environment()
	text, _ := ask.CombinedOutput()
	return string(text)
}

// logged tells whether the agents of this test logged a text.
func (w *world) logged(what string) bool {
	text, err := os.ReadFile(w.log)
	if err != nil {
		w.Fatal(err)
	}
	return strings.Contains(string(text), what)
}

func (w *world) fingerprint() string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.options.Home, "tls.pem"))
	if err != nil {
		w.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(block.Bytes))
}

// recovered waits until the daemon is online and in sync, and a change of a template arrives at it.
func (w *world) recovered(after string, template int64, rate int, ready func() bool) {
	w.Helper()
	began := time.Now()
	wait.Until(w, func() string {
		if ready() {
			return ""
		}
		return after + ": not noticed yet"
	})
	w.server.WaitConfiguration(w.daemon.ID, fleet.ConfigInSync)
	online := time.Since(began)
	w.setRate(template, rate)
	w.hasRate(rate)
	w.Logf("after %s: in sync again after %v, changed after %v", after, online.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
}

// setRate changes the template of the daemon's rate.
func (w *world) setRate(template int64, rate int) {
	w.Helper()
	label, op, key, text := "rate", "set", "options.maxSendKbps", fmt.Sprintf("%d\n", rate)
	if _, err := w.server.Client.PutTemplate(w.Context(), template,
		api.PutTemplate{Label: &label, Op: &op, Key: &key, Template: &text}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) hasRate(want int) {
	w.Helper()
	wait.Until(w, func() string {
		var options struct{ MaxSendKbps int }
		w.daemon.GetJSON("/rest/config/options", &options)
		if options.MaxSendKbps != want {
			return fmt.Sprintf("maxSendKbps is %d, not %d", options.MaxSendKbps, want)
		}
		return ""
	})
}

// accept lets the device in as soon as it waits, as an administrator does.
func (w *world) accept(tags ...string) {
	w.Helper()
	wait.Until(w, func() string {
		if !strings.Contains(w.status(), "waiting") {
			return "the agent does not tell that it waits: " + w.status()
		}
		_, err := w.server.Client.AcceptEnrollment(w.Context(), string(w.daemon.ID), api.AcceptEnrollment{Tags: &tags})
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestADaemonBehindNATIsManagedByItsAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if w.namespace != nil {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(w.namespace.Own, fmt.Sprint(w.daemon.Port)), time.Second)
		if err == nil {
			conn.Close()
			t.Fatal("the daemon's API can be reached from outside: this test would show nothing")
		}
	}
	began := time.Now()
	w.startAgent()
	w.accept("team")
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	t.Logf("online %v after the agent was started", time.Since(began).Round(time.Millisecond))
	rate := w.server.Template("set", "options.maxSendKbps", "1111\n", "team")
	w.hasRate(1111)
	w.sync()
	state, err := w.server.Client.DeviceState(t.Context(), string(w.daemon.ID))
	if err != nil || state.FoundBy != fleet.FoundByAgent {
		t.Errorf("got %+v, %v; want found by agent", state, err)
	}
	if device, err := w.server.Client.Device(t.Context(), string(w.daemon.ID)); err != nil || device.APIAddress != "" ||
		device.APIPort != int64(w.daemon.Port) {
		t.Errorf("the record is %+v, %v", device, err)
	}
	w.hasPinOfAgent()

	w.server.Kill()
	w.server = server.Start(t, w.options)
	w.recovered("the manager was killed", rate, 2222, func() bool { return true })

	w.killAgent()
	w.server.WaitState(w.daemon.ID, "not online", func(s api.DeviceState) bool {
		return s.Connection != string(fleet.Online)
	})
	w.startAgent()
	w.recovered("the agent was killed", rate, 3333, func() bool { return true })

	w.daemon.Stop()
	w.daemon.MoveAPI("another-key-of-thirty-two-letters")
	w.daemon.Restart()
	w.recovered("the daemon got another port and key", rate, 4444,
		func() bool { return w.logged("the daemon's API moved") })
	w.recordFollows()
	wait.Until(t, func() string { // the daemon has the change before its answer has passed the agent
		status := w.status()
		if !strings.Contains(status, "accepted") || !strings.Contains(status, "PATCH /rest/config/options: 200") {
			return "`muster agent status` prints:\n" + status
		}
		return ""
	})
	if w.logged(w.daemon.APIKey) {
		t.Error("the agent's log has the daemon's key")
	}
	w.killAgent()
	w.startAgent("--observe")
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	w.setRate(rate, 5555)
	wait.Until(t, func() string {
		if w.logged("it lets nothing change its daemon") {
			return ""
		}
		return "no write was refused"
	})
	w.hasRate(4444)
	settings, err := w.server.Client.DeviceSettings(t.Context(), string(w.daemon.ID))
	if err != nil || settings.Way != string(fleet.WayAgent) {
		t.Errorf("the daemon may only be observed, and the settings are %+v, %v", settings, err)
	}
}

// The record of a device kept the API key and port of before when its daemon got others.
func (w *world) recordFollows() {
	w.Helper()
	id := string(w.daemon.ID)
	wait.Until(w, func() string {
		device, err := w.server.Client.Device(w.Context(), id)
		if err != nil || device.APIKey != w.daemon.APIKey || device.APIPort != int64(w.daemon.Port) {
			return fmt.Sprintf("the record has port %d, and the key is the daemon's: %v; %v", device.APIPort,
				device.APIKey == w.daemon.APIKey, err)
		}
		return ""
	})
	entries, err := w.server.Client.Audit(w.Context(), client.AuditSearch{Subject: id})
	if err != nil || !slices.ContainsFunc(entries, func(e api.AuditEntry) bool {
		return e.What == "device.agent" && strings.Contains(e.Detail, "another API key and its API on port")
	}) {
		w.Errorf("the audit has %+v, %v", entries, err)
	}
}

// The API key of a device that its agent had proven went to the first certificate that answered elsewhere.
func (w *world) hasPinOfAgent() {
	w.Helper()
	settings, err := w.server.Client.DeviceSettings(w.Context(), string(w.daemon.ID))
	if err != nil || settings.Pin != w.daemon.Pin() {
		w.Errorf("the settings are %+v, %v; want the pin %s", settings, err, w.daemon.Pin())
	}
}

// sync shares a folder between the daemon and one that is reached directly, and waits until a file arrives.
func (w *world) sync() {
	w.Helper()
	peer := daemon.Start(w, daemon.Options{})
	at := peer.SyncAddress()
	if w.namespace != nil {
		at = fmt.Sprintf("tcp://%s:%d", w.host, peer.SyncPort)
		peer.Patch("/rest/config/options", map[string]any{"listenAddresses": []string{at}})
	}
	w.server.Register(peer.ID, peer.APIKey, "127.0.0.1", peer.Port, "team")
	w.server.Template("merge", "devices", fmt.Sprintf(`[
	{deviceID: %q, name: "inside", addresses: ["dynamic"]}
	{deviceID: %q, name: "peer", addresses: [%q]}
]`, w.daemon.ID, peer.ID, at), "team")
	w.server.Template("merge", "folders.team", `def template(device):
    return {
        "label": "Team",
        "path": "~/team",
        "fsWatcherDelayS": 1,
        "devices": [{"deviceID": d.deviceID} for d in devices(tag="team")],
    }
`, "team")
	w.server.WaitConfiguration(w.daemon.ID, fleet.ConfigInSync)
	const content = "through the tunnel came only the configuration\n"
	wait.Until(w, func() string {
		return errorText(os.WriteFile(filepath.Join(peer.UserHome, "team", "note.txt"), []byte(content), 0o600))
	})
	peer.Post("/rest/db/scan?folder=team", nil)
	wait.Until(w, func() string {
		got, err := os.ReadFile(filepath.Join(w.daemon.UserHome, "team", "note.txt"))
		if err == nil && string(got) != content {
			return fmt.Sprintf("got %q", got)
		}
		return errorText(err)
	})
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// The line that the server prints is all that a second machine needs, with a key made beforehand.
func TestAnEnrolKeyHasADeviceAcceptedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, nil)
	tags := []string{"office"}
	key, err := w.server.Client.CreateEnrollKey(t.Context(), api.CreateEnrollKey{Tags: &tags})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.startAgent("--key-file", file)
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	if got, err := w.server.Client.DeviceTags(t.Context(), string(w.daemon.ID)); err != nil || len(got) != 1 ||
		got[0] != "office" {
		t.Errorf("got the tags %v, %v", got, err)
	}
	if w.logged(key.Key) {
		t.Error("the agent's log has the enrol key")
	}
}

// With the API key of a daemon that may only be observed, the server could change it as soon as the agent was gone.
func TestTheAPIKeyOfAnObservedDaemonIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, nil)
	w.startAgent("--observe")
	w.accept()
	w.server.WaitConnection(w.daemon.ID, fleet.Online)
	wait.Until(t, func() string {
		settings, err := w.server.Client.DeviceSettings(t.Context(), string(w.daemon.ID))
		if err != nil || settings.Way != string(fleet.WayAgent) || settings.Pin != w.daemon.Pin() {
			return fmt.Sprintf("the settings are %+v, %v", settings, err)
		}
		return ""
	})
	w.server.WaitState(w.daemon.ID, "kept", func(s api.DeviceState) bool { return s.Configuration != "" })
	if device, err := w.server.Client.Device(t.Context(), string(w.daemon.ID)); err != nil || device.APIKey != "" {
		t.Errorf("the record is %+v, %v", device, err)
	}
	w.daemon.Patch("/rest/config/options", map[string]any{"maxRecvKbps": 77}) // an event has the whole configuration
	w.server.WaitRevision(w.daemon.ID, "options.maxRecvKbps", "77")
	w.server.Stop()
	w.wantNotStored(w.daemon.APIKey)
}

// wantNotStored checks that the newest configuration of the device, as the server keeps it, does not hold a secret.
func (w *world) wantNotStored(secret string) {
	w.Helper()
	keys, err := seal.FromHome(w.options.Home)
	if err != nil {
		w.Fatal(err)
	}
	kept, err := store.Open(w.Context(), store.Options{Home: w.options.Home, Seal: keys})
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = kept.Close() }()
	_, document, err := kept.NewestDocument(w.Context(), w.daemon.ID)
	if err != nil {
		w.Fatal(err)
	}
	text, err := io.ReadAll(document.Open())
	if err != nil || !strings.Contains(string(text), "hidden by the agent") || strings.Contains(string(text), secret) {
		w.Errorf("the server keeps the configuration %s, %v", text, err)
	}
}
