package agent_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/syncthing"
	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

const someone = fleet.DeviceID("7H7ES4I-EQBUD6H-V4U4DO3-A2D4Y2E-DSRYVE6-JSDVKXR-IOJC7CZ-VABKNQS")

// calls are all that the manager's client can ask of a daemon.
var calls = map[string]func(context.Context, *syncthing.Client){
	"Status":       func(ctx context.Context, c *syncthing.Client) { _, _ = c.Status(ctx) },
	"Version":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Version(ctx) },
	"Directories":  func(ctx context.Context, c *syncthing.Client) { _, _ = c.Directories(ctx) },
	"Summary":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Summary(ctx, "a b/ü") },
	"Config":       func(ctx context.Context, c *syncthing.Client) { _, _ = c.Config(ctx) },
	"SystemConfig": func(ctx context.Context, c *syncthing.Client) { _, _ = c.SystemConfig(ctx) },
	"Events":       func(ctx context.Context, c *syncthing.Client) { _, _ = c.Events(ctx, 17, 250, time.Minute) },
	"Ignores":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Ignores(ctx, "a&b") },
	"SetIgnores":   func(ctx context.Context, c *syncthing.Client) { _ = c.SetIgnores(ctx, "a&b", []string{"x"}) },
	"Discovery":    func(ctx context.Context, c *syncthing.Client) { _, _ = c.Discovery(ctx) },
	"Connections":  func(ctx context.Context, c *syncthing.Client) { _, _ = c.Connections(ctx) },
	"Pending":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Pending(ctx) },
	"Restart":      func(ctx context.Context, c *syncthing.Client) { _ = c.Restart(ctx) },
	"Release":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Release(ctx) },
	"Home":         func(ctx context.Context, c *syncthing.Client) { _, _ = c.Home(ctx) },
	"DismissPending": func(ctx context.Context, c *syncthing.Client) {
		_ = c.DismissPending(ctx, fleet.Pending{From: someone})
		_ = c.DismissPending(ctx, fleet.Pending{From: someone, Folder: "a b"})
	},
	"ConnectedPeers": func(ctx context.Context, c *syncthing.Client) { _, _ = c.ConnectedPeers(ctx) },
	"Conflicts":      func(ctx context.Context, c *syncthing.Client) { _, _, _ = c.Conflicts(ctx, 17) },
	"ConflictCounts": func(ctx context.Context, c *syncthing.Client) { _, _ = c.ConflictCounts(ctx) },
	"File":           func(ctx context.Context, c *syncthing.Client) { _, _ = c.File(ctx, "a b", "x&y/ü") },
	"FailedItems": func(ctx context.Context, c *syncthing.Client) {
		_, _, _ = c.FailedItems(ctx, "a b", 2, 100)
	},
	"FolderIndexes":   func(ctx context.Context, c *syncthing.Client) { _, _, _ = c.FolderIndexes(ctx, "a b") },
	"Completion":      func(ctx context.Context, c *syncthing.Client) { _, _ = c.Completion(ctx, "a b", someone) },
	"Started":         func(ctx context.Context, c *syncthing.Client) { _, _ = c.Started(ctx) },
	"Log":             func(ctx context.Context, c *syncthing.Client) { _, _ = c.Log(ctx, time.Now()) },
	"RestartRequired": func(ctx context.Context, c *syncthing.Client) { _, _ = c.RestartRequired(ctx) },
	"Write":           nil, // writes have a test of their own
}

func TestEveryCallOfTheManagersClientIsOnTheAgentsList(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	daemon := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path)
		mu.Unlock()
		if _, err := tunnel.Admit(r.Method, r.RequestURI); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.RequestURI, err)
		}
		switch r.URL.Path {
		case "/rest/system/status":
			_ = json.NewEncoder(w).Encode(map[string]string{"myID": string(someone)})
		case "/rest/events":
			_, _ = w.Write([]byte(`[{"id":1,"type":"Starting","data":{}}]`))
		default:
			_, _ = w.Write([]byte("{}"))
		}
	}))
	defer daemon.Close()
	client := syncthing.New(syncthing.Target{Device: someone, Address: daemon.Listener.Addr().String(),
		APIKey: fleet.NewSecret("key"), Introduced: fleet.ByPerson}, syncthing.Options{
		Dial: (&net.Dialer{}).DialContext})
	asks := reflect.TypeFor[func(*syncthing.Client, context.Context)]().In(1)
	kind := reflect.TypeOf(client)
	for i := range kind.NumMethod() {
		method := kind.Method(i)
		if method.Type.NumIn() < 2 || method.Type.In(1) != asks || method.Name == "Session" || method.Name == "Visit" {
			continue
		}
		call, known := calls[method.Name]
		if !known {
			t.Errorf("the client's %s is not in this test", method.Name)
		}
		if call != nil {
			call(t.Context(), client)
		}
	}
	if len(seen) < 18 {
		t.Errorf("the daemon was asked %d times: %v", len(seen), seen)
	}
}

// What reconcile sends is made in internal/core/plan, of a section and a method.
func TestEveryWriteOfTheManagerIsOnTheAgentsList(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"options", "ldap", "gui", "defaults/folder", "defaults/device",
		"devices/" + string(someone), "folders/a%20b", "folders/%25x", "folders/" + "%C3%BC"} {
		for _, method := range []string{http.MethodPut, http.MethodPatch} {
			if _, err := tunnel.Admit(method, "/rest/config/"+path); err != nil {
				t.Errorf("%s %s: %v", method, path, err)
			}
		}
	}
	for _, request := range []string{"PUT /rest/config", "PUT /rest/config/devices", "PUT /rest/config/folders",
		"PUT /rest/config/defaults/ignores", "DELETE /rest/config/devices/" + string(someone),
		"DELETE /rest/config/folders/a%20b", "POST /rest/db/ignores?folder=a+b"} {
		method, target, _ := strings.Cut(request, " ")
		if _, err := tunnel.Admit(method, target); err != nil {
			t.Errorf("%s: %v", request, err)
		}
	}
}

// A path that is new in the manager has to be new on the list.
func TestEveryPathInTheManagersCodeIsOnTheAgentsList(t *testing.T) {
	t.Parallel()
	found := 0
	rooms := []string{"core/plan", "adapter/syncthing", "engine/mirror", "engine/reconcile", "app", "engine/rollout"}
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join("../../internal", room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, path := range pathsIn(t, file) {
				found++
				if !someMethod(path) {
					t.Errorf("%s: no request to %s is on the agent's list", file, path)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d paths were found", found)
	}
}

// pathsIn are the paths of the daemon's API in the texts of a file.
func pathsIn(t *testing.T, file string) (paths []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err == nil && strings.HasPrefix(text, "/rest/") && text != "/rest/" {
			path, _, _ := strings.Cut(text, "?")
			paths = append(paths, strings.ReplaceAll(path, "%s/%s", "devices/x"))
		}
		return true
	})
	return paths
}

// someMethod tells whether a path, or one that goes on from it, may be asked by any method.
func someMethod(path string) bool {
	for _, method := range []string{"GET", "PUT", "PATCH", "POST", "DELETE"} {
		if admitted(method, path+"?perpage=100") { // agents pass long lists in pages only
			return true
		}
		for _, more := range []string{"", "options", "folder"} {
			if (more == "" || strings.HasSuffix(path, "/")) && admitted(method, path+more) {
				return true
			}
		}
	}
	return false
}

func admitted(method, target string) bool {
	_, err := tunnel.Admit(method, target)
	return err == nil
}
