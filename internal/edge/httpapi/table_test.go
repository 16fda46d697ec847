package httpapi

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

var update = flag.Bool("update", false, "write testdata/access.txt, the table of who may use which route")

const tableFile = "testdata/access.txt"

// callOn is a call of a route for a device. It changes nothing: a body is missing, and what a path names besides the
// device is not there.
func callOn(rt route, device fleet.DeviceID) call {
	path := strings.ReplaceAll(fill(rt.path), string(idA), string(device))
	c := call{method: rt.method, path: path, header: http.Header{}}
	if rt.conditional {
		c.header.Set("If-Match", `"absent"`)
	}
	if rt.media != "" { // a stream has no end
		c.method = http.MethodHead
	}
	return c
}

// verdict is a status as the table has it: whether the route was reached.
func verdict(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprint(status)
	}
	return "yes"
}

// Every route that is registered is called by every role, by tokens whose scope holds the device of the path or does
// not, and with every credential that is none. The verdicts are compared with a table that people read: a new route is
// not in it.
func TestWhoMayUseWhichRoute(t *testing.T) {
	w := newRoomy(t)
	var table bytes.Buffer
	fmt.Fprintf(&table, "# %-62s viewer operator author admin | with a tag scope: %s\n", "route",
		"viewer inside, outside; operator inside, outside | enrol key")
	for _, rt := range w.api.routes {
		w.wantRefused(rt)
		line := fmt.Sprintf("%-7s%-58s", rt.method, rt.path)
		for _, role := range everyRole {
			line += fmt.Sprintf("%-6s", w.verdictFor(rt, role))
		}
		line += "|"
		for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator} {
			line += fmt.Sprintf(" %-5s%-4s", w.scopedVerdict(rt, role, idA), w.scopedVerdict(rt, role, idB))
		}
		line += "| " + w.enrollKeyVerdict(rt)
		table.WriteString(line + "\n")
	}
	if *update {
		if err := os.WriteFile(tableFile, table.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	compareLines(t, strings.Split(table.String(), "\n"), strings.Split(string(want), "\n"))
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	known := map[string]bool{}
	for _, line := range want {
		known[line] = true
	}
	for _, line := range got {
		if !known[line] {
			t.Errorf("%s has another verdict, or none:\n%s\nRead it, then run the test with -update.", tableFile, line)
		}
		delete(known, line)
	}
	for line := range known {
		t.Errorf("%s has a line about what is not so any more:\n%s", tableFile, line)
	}
}

// verdictFor calls a route with a role's token, and with the session of a user with the role, in a header and in a
// cookie: the verdict is the same.
func (w *roomy) verdictFor(rt route, role fleet.Role) string {
	w.t.Helper()
	c := callOn(rt, idA)
	c.role = role
	status, _, _ := w.ask(c)
	for _, by := range []string{"header", "cookie"} {
		if c = callOn(rt, idA); by == "header" {
			c.token = w.programs[role]
		} else {
			c.token = "-"
			maps.Copy(c.header, w.sessions[role])
		}
		if got, _, body := w.ask(c); verdict(got) != verdict(status) {
			w.t.Errorf("%s %s: the token of an %s gets %d, a session in a %s %d %s", rt.method, rt.path, role, status, by,
				got, body)
		}
		if rt.name == "logout" {
			w.enter(role)
		}
	}
	return verdict(status)
}

// enrollKeyVerdict calls a route with an enrol key that registers a device.
func (w *roomy) enrollKeyVerdict(rt route) string {
	w.t.Helper()
	c := callOn(rt, idA)
	c.token = w.enrollKey
	status, _, _ := w.ask(c)
	return verdict(status)
}

// wantRefused calls a route with what is no credential.
func (w *roomy) wantRefused(rt route) {
	w.t.Helper()
	for _, name := range inOrder(w.refused) {
		for header, form := range map[string]string{"Authorization": "Bearer %s", "X-API-Key": "%s",
			"Cookie": auth.HostPrefix + auth.SessionCookie + "=%s"} {
			c := callOn(rt, idA)
			if c.token = "-"; name != "none" {
				c.header.Set(header, fmt.Sprintf(form, w.refused[name]))
			}
			status, _, body := w.ask(c)
			public := rt.permission == auth.Public && status < http.StatusUnauthorized ||
				rt.permission == auth.Public && status == http.StatusServiceUnavailable // of /readyz
			if status != http.StatusUnauthorized && !public {
				w.t.Errorf("%s %s with a credential that is %s: got %d %s", rt.method, rt.path, name, status, body)
			}
		}
	}
}

// scopedVerdict calls a route as somebody with a scope. A device outside has to answer as one that is not registered.
func (w *roomy) scopedVerdict(rt route, role fleet.Role, device fleet.DeviceID) string {
	w.t.Helper()
	c := callOn(rt, device)
	c.token = w.scoped[role]
	status, header, body := w.ask(c)
	w.wantHidden(c, header, body)
	visit := callOn(rt, device)
	visit.token = w.visitors[role]
	visited, visitedHeader, text := w.ask(visit)
	w.wantHidden(visit, visitedHeader, text)
	if verdict(visited) != verdict(status) || status == http.StatusNotFound && visited != status {
		w.t.Errorf("%s %s: the token of a scoped %s gets %d, a session %d %s", rt.method, rt.path, role, status, visited,
			text)
	}
	if rt.name == "logout" {
		w.visit(role)
	}
	if !strings.Contains(rt.path, "{deviceID}") || device == idA {
		return verdict(status)
	}
	c.path = callOn(rt, idC).path
	absent, absentHeader, absentBody := w.ask(c)
	absentBody = strings.ReplaceAll(absentBody, string(idC), string(idB))
	if status != absent || body != absentBody || fmt.Sprint(header) != fmt.Sprint(absentHeader) {
		w.t.Errorf("%s %s: a device outside answers %d %v %s, one that is not registered %d %v %s", rt.method, rt.path,
			status, header, body, absent, absentHeader, absentBody)
	}
	if status == http.StatusNotFound {
		return fmt.Sprint(status)
	}
	return verdict(status)
}

func TestEveryRouteThatScopedCallersReachSaysHow(t *testing.T) {
	w := newRoomy(t)
	named := map[string]bool{}
	for _, rt := range w.api.routes {
		named[rt.name] = true
		scopable := !rt.permission.Needs().Includes(fleet.RoleAuthor) && rt.permission != auth.Public &&
			rt.permission != auth.Enroll
		at, says := reaches[rt.name]
		switch {
		case scopable && !says:
			t.Errorf("%s %s: reaches does not say what a token with a tag scope may do there", rt.method, rt.path)
		case !scopable && says:
			t.Errorf("%s %s: nobody with a tag scope has the role that it needs: take it out of reaches", rt.method, rt.path)
		case says && (at == byDevice) != strings.Contains(rt.path, "{deviceID}"):
			t.Errorf("%s %s: byDevice is for routes whose path names a device, and for all of them", rt.method, rt.path)
		}
	}
	for name := range reaches {
		if !named[name] {
			t.Errorf("reaches has %s, which is no route", name)
		}
	}
}

func TestARouteThatReachesDoesNotKnowIsForbidden(t *testing.T) {
	w := newRoomy(t)
	r := &request{Request: &http.Request{Method: http.MethodGet},
		who: auth.Principal{Scope: fleet.ScopeOf([]fleet.Tag{"in"})}}
	if err := w.api.mayReach(r, route{name: "new"}); fleet.CodeOf(err) != fleet.CodeForbidden {
		t.Errorf("got %v", err)
	}
}
