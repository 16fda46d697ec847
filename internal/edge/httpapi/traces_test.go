package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// traced are the entries of one kind, the oldest first.
func (w *world) traced(what string) []fleet.AuditEntry {
	w.t.Helper()
	entries, err := w.store.Audit(w.t.Context(), fleet.AuditQuery{What: what, Oldest: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

func TestARefusedRequestIsInTheAudit(t *testing.T) {
	w := newWorld(t)
	put := call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA), body: `{"apiKey":"` + key + `"}`,
		role: fleet.RoleViewer}
	for range 20 {
		w.problem(http.StatusForbidden, put)
	}
	w.problem(http.StatusForbidden, call{method: http.MethodPost, path: Prefix + "/templates", body: "{}", token: "-",
		header: http.Header{"Origin": {"https://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}}})
	w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + "/devices", token: "muster_x"})
	got := w.traced("request.refused")
	if len(got) != 6 {
		t.Fatalf("got %d entries: %+v", len(got), got)
	}
	if e := got[0]; e.Who != "viewer" || e.Subject != "putDevice" || !strings.Contains(e.Detail, put.path) ||
		!strings.Contains(e.Detail, "192.0.2.1") || strings.Contains(e.Detail, key) {
		t.Errorf("got %+v", e)
	}
	if e := got[5]; e.Who != fleet.Anonymous || !strings.Contains(e.Detail, "another site") {
		t.Errorf("got %+v", e)
	}
}

func TestReadingAnAPIKeyIsInTheAudit(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.device(idB, "two")
	const list = Prefix + "/devices"
	w.get(list)
	w.get(list + "/" + string(idB))
	w.get(list + "?tag=none")                                                               // shows no device
	w.want(http.StatusOK, call{method: http.MethodGet, path: list, role: fleet.RoleAuthor}) // keys are masked
	etag := w.do(call{method: http.MethodGet, path: list}).Header.Get("ETag")
	w.want(http.StatusNotModified, call{method: http.MethodGet, path: list, header: http.Header{"If-None-Match": {etag}}})
	var got []string
	for _, e := range w.traced("device.readKey") {
		got = append(got, e.Who+" "+e.Subject)
	}
	if want := []string{"admin 2 devices", "admin " + string(idB), "admin 2 devices"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// deaf is an audit that keeps nothing.
type deaf struct{ *store.Store }

func (deaf) RecordBounded(context.Context, string, string, string) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the database is away"}
}

func TestAPIKeysAreMaskedWhileReadingThemCannotBeKept(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w = w.with(func(o *setup) { o.Audit = deaf{w.store} })
	for _, path := range []string{Prefix + "/devices", Prefix + "/devices/" + string(idA)} {
		if body := w.get(path); strings.Contains(body, key) || !strings.Contains(body, fleet.MaskedAPIKey) {
			t.Errorf("%s: %s", path, body)
		}
	}
	w.problem(http.StatusForbidden, call{method: http.MethodGet, path: Prefix + "/audit", role: fleet.RoleViewer})
}

// alteredToken authenticates everybody as the bearer of a token that Muster did not write.
type alteredToken struct{}

func (alteredToken) Authenticate(*http.Request) (auth.Principal, error) {
	return auth.Principal{Name: "eve"}, &fleet.Error{Code: fleet.CodeUnauthorized, Message: "refused",
		Hint: "Make another one.", Err: auth.ErrAltered}
}

func TestATokenThatMusterDidNotWriteIsRefusedAndRecorded(t *testing.T) {
	w := newWorld(t).with(func(o *setup) { o.Auth = alteredToken{} })
	for _, path := range []string{"/devices", "/nothing"} {
		w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + path})
	}
	if got := w.traced("token.refused"); len(got) != 2 || got[0].Who != "eve" {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(w.log.String(), "not written by Muster") {
		t.Errorf("the log has %s", w.log)
	}
}

func TestTheAuditIsSearchedVerifiedAndSigned(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	w.device(idB, "two")
	const path = Prefix + "/audit"
	for query, want := range map[string]int{
		"?device=" + string(idA): 1, "?what=device.": 2, "?what=device.create&who=admin&order=oldest": 2, "?who=viewer": 0,
		"?since=2020-01-01T00:00:00Z&subject=" + string(idB): 1, "?until=2020-01-01T00:00:00Z": 0,
	} {
		if got := read[[]api.AuditEntry](w, path+query); len(got) != want {
			t.Errorf("%s: got %d entries, want %d", query, len(got), want)
		}
	}
	for _, query := range []string{"?device=x", "?since=yesterday", "?order=up"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodGet, path: path + query})
	}
	var head api.AuditHead
	var report api.AuditReport
	for _, asked := range []struct {
		into any
		call func() call
	}{
		{&head, func() call { return call{method: http.MethodPost, path: path + "/head"} }},
		{&report, func() call {
			return call{method: http.MethodPost, path: path + "/verify", body: `{"heads":["` + head.Head + `"]}`,
				role: fleet.RoleOperator}
		}},
	} {
		if err := json.Unmarshal([]byte(w.want(http.StatusOK, asked.call())), asked.into); err != nil {
			t.Fatal(err)
		}
	}
	if len(report.Faults)+len(report.Rows) != 0 || report.Entries < 6 {
		t.Errorf("got %+v", report)
	}
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: path + "/verify",
		body: `{"heads":["1:2:3"]}`})
	w.problem(http.StatusForbidden, call{method: http.MethodPost, path: path + "/verify", body: `{}`,
		role: fleet.RoleViewer})
}

// leaving is an audit whose client is gone when the entry is written.
type leaving struct {
	*store.Store
	leave func()
}

func (l leaving) RecordBounded(ctx context.Context, what, subject, detail string) error {
	l.leave()
	return l.Store.RecordBounded(ctx, what, subject, detail)
}

func TestAClientThatHungUpLeftNoRefusalInTheAudit(t *testing.T) {
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	w = w.with(func(o *setup) { o.Audit = leaving{w.store, leave} })
	r := httptest.NewRequestWithContext(ctx, http.MethodDelete, "http://localhost"+Prefix+"/devices/"+string(idA), nil)
	r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleViewer])
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	if got := w.traced("request.refused"); rec.Code != http.StatusForbidden || len(got) != 1 {
		t.Errorf("got %d and %+v", rec.Code, got)
	}
}

func TestRepliesWithAPIKeysWereKeptInCaches(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	for _, path := range []string{Prefix + "/devices", Prefix + "/devices/" + string(idA)} {
		for role, want := range map[fleet.Role]string{fleet.RoleAdmin: "no-store", fleet.RoleViewer: "private, no-cache"} {
			resp := w.do(call{method: http.MethodGet, path: path, role: role})
			if got := resp.Header.Get("Cache-Control"); got != want || resp.StatusCode != http.StatusOK {
				t.Errorf("%s as %s: got %d with %q, want %q", path, role, resp.StatusCode, got, want)
			}
		}
	}
}

func TestBrowsersAreToldToStayWithTLS(t *testing.T) {
	w := newWorld(t)
	for _, url := range []string{"https://muster.example/", "http://muster.example/", "https://muster.example/nothing"} {
		rec := httptest.NewRecorder()
		w.api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, url, nil))
		got := rec.Header().Get("Strict-Transport-Security")
		if secure := strings.HasPrefix(url, "https:"); secure != strings.HasPrefix(got, "max-age=") {
			t.Errorf("%s: got %q", url, got)
		}
	}
}

// readings counts which readings of API keys the audit gets, without the bound of entries.
type readings struct {
	*store.Store
	subjects []string
}

func (r *readings) RecordBounded(ctx context.Context, what, subject, detail string) error {
	if what == "device.readKey" {
		r.subjects = append(r.subjects, subject)
	}
	return r.Store.RecordBounded(ctx, what, subject, detail)
}

// The reply to a PUT of a device showed the API key, could be cached, and left nothing in the audit.
func TestAReplyWithAnAPIKeyLeftNothingInTheAudit(t *testing.T) {
	t.Parallel()
	w := newRoomy(t)
	seen := &readings{Store: w.store}
	w.with(func(o *setup) { o.Audit = seen })
	shown := map[string]bool{}
	for _, rt := range w.api.routes {
		if rt.method == http.MethodDelete || rt.name == "logout" {
			continue
		}
		seen.subjects = nil
		c := callOn(rt, idA)
		if rt.name == "putDevice" { // which keeps the API key, and shows it
			c.body = `{"label":"mine"}`
			c.header.Del("If-Match")
		}
		status, header, body := w.ask(c)
		if !strings.Contains(body, key) {
			continue
		}
		shown[rt.name] = true
		if header.Get("Cache-Control") != "no-store" || len(seen.subjects) == 0 {
			t.Errorf("%s answers %d with an API key, Cache-Control %q, and these entries: %q", rt.name, status,
				header.Get("Cache-Control"), seen.subjects)
		}
	}
	for _, name := range []string{"putDevice", "getDevice", "listDevices"} {
		if !shown[name] {
			t.Errorf("%s shows no API key: this test shows nothing; shown by %v", name, shown)
		}
	}
}

// unwritten is an audit that cannot keep anything.
type unwritten struct{ *store.Store }

func (unwritten) RecordBounded(context.Context, string, string, string) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the disk is full"}
}

func TestAPutWhoseReadingCannotBeKeptIsDoneOnceAndMasked(t *testing.T) {
	t.Parallel()
	w := newWorld(t).with(func(o *setup) { o.Audit = unwritten{o.Audit.(*store.Store)} })
	w.device(idA, "one")
	body := w.want(http.StatusOK, call{method: http.MethodPut, path: Prefix + "/devices/" + string(idA),
		body: `{"label":"two"}`})
	if strings.Contains(body, key) || len(w.traced("device.replace")) != 1 {
		t.Errorf("got %s", body)
	}
}
