package httpapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// endless gives a body of the given size and counts what was taken of it.
type endless struct {
	left  int64
	taken atomic.Int64
}

func (b *endless) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.left))
	for i := range p[:n] {
		p[i] = ' '
	}
	b.left -= int64(n)
	b.taken.Add(int64(n))
	return n, nil
}

func (w *world) listen(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(w.api)
	t.Cleanup(srv.Close)
	return srv
}

func TestAHugeBodyIsRefusedUnreadAndTheClientIsTold(t *testing.T) {
	w := newWorld(t)
	srv := w.listen(t)
	const huge = 100 << 20
	for name, length := range map[string]int64{"length said": huge, "length unknown": -1} {
		t.Run(name, func(t *testing.T) {
			body := &endless{left: huge}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, srv.URL+Prefix+"/devices/"+string(idA),
				io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleAdmin])
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			readProblem(t, resp, http.StatusRequestEntityTooLarge, r.Method)
			if taken := body.taken.Load(); taken > huge/2 {
				t.Errorf("%d bytes were taken", taken)
			}
		})
	}
}

// A client that writes all of its body before it reads, as many HTTP libraries do, gets the answer too.
func TestAHugeBodyIsRefusedToAClientThatReadsLate(t *testing.T) {
	w := newWorld(t)
	conn := w.sendHead(t, http.MethodPut, "/devices/"+string(idA), "")
	if _, err := io.Copy(conn, &endless{left: 100 << 20}); err == nil {
		t.Error("the server took all of it")
	}
	readTooLarge(t, conn, http.MethodPut)
}

// sendHead connects and sends an admin's request up to its body, which is said to be of 100 MiB.
func (w *world) sendHead(t *testing.T, method, path, header string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", w.listen(t).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: %d\r\n%s\r\n",
		method, Prefix+path, w.tokens[fleet.RoleAdmin], 100<<20, header)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// readTooLarge reads the answer to a request that is too large.
func readTooLarge(t *testing.T, conn net.Conn, method string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	readProblem(t, resp, http.StatusRequestEntityTooLarge, method)
}

func TestExpectingClientsAreRefusedBeforeTheySendABody(t *testing.T) {
	w := newWorld(t)
	conn := w.sendHead(t, http.MethodPost, "/templates", "Expect: 100-continue\r\n")
	readTooLarge(t, conn, http.MethodPost)
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	srv := w.listen(t)
	for _, path := range []string{"/devices", "/devices/" + string(idA), "/openapi.json", "/nothing"} {
		answers := map[string]*http.Response{}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+Prefix+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-API-Key", w.tokens[fleet.RoleAdmin])
			r.Header.Set("Accept-Encoding", "gzip") // the client of Go adds it to GET alone
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || (method == http.MethodHead) != (len(body) == 0) {
				t.Errorf("%s %s: a body of %d bytes, %v", method, path, len(body), err)
			}
			answers[method] = resp
		}
		get, head := answers[http.MethodGet], answers[http.MethodHead]
		if get.StatusCode != head.StatusCode || get.ContentLength != head.ContentLength ||
			get.Header.Get("ETag") != head.Header.Get("ETag") {
			t.Errorf("%s: GET %d %v, HEAD %d %v", path, get.StatusCode, get.Header, head.StatusCode, head.Header)
		}
	}
}

func TestAServerIsCalledByItsNamesOnly(t *testing.T) {
	w := newWorld(t)
	for _, host := range []string{"localhost", "LOCALHOST:2525", "localhost.", "127.0.0.1:2525", "127.9.9.9",
		"[::1]:2525", "[::1]", "muster.example", "Muster.Example:443"} {
		w.want(http.StatusOK, call{method: http.MethodGet, path: "/healthz", host: host, token: "-"})
	}
	for _, host := range []string{"", "example", "muster.example.evil", "8.8.8.8", "[2001:db8::1]", "localhost@evil",
		"127.0.0.1.evil.example"} {
		if host == "" {
			continue // httptest puts one in
		}
		w.problem(http.StatusMisdirectedRequest, call{method: http.MethodGet, path: "/healthz", host: host, token: "-"})
	}
	r := httptest.NewRequest(http.MethodGet, "http://192.0.2.9:2525/healthz", nil)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey,
		&net.TCPAddr{IP: net.ParseIP("192.0.2.9"), Port: 2525}))
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		t.Errorf("got %d under the address that the connection came in on", rec.Code)
	}
}

func TestWhatGoesWrongInsideStaysInside(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	template := w.template(`{"op":"set","key":"","template":"{}"}`)
	for name, evaluate := range map[string]func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error){
		"plain error": func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error) {
			return Evaluation{}, errors.New("password 1234")
		},
		"internal error": func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error) {
			return Evaluation{}, &fleet.Error{Code: fleet.CodeInternal, Message: "password 1234"}
		},
		"panic": func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error) { panic("password 1234") },
	} {
		t.Run(name, func(t *testing.T) {
			w.log.Reset()
			w.fakes.evaluate = evaluate
			p := w.in(t).problem(http.StatusInternalServerError, call{method: http.MethodGet, path: template + "/evaluate"})
			if strings.Contains(p.Detail+p.Hint, "1234") {
				t.Errorf("the cause was sent: %+v", p)
			}
			if !strings.Contains(w.log.String(), "password 1234") {
				t.Errorf("the cause was not logged: %s", w.log)
			}
		})
	}
}

func TestFailuresOfDaemonsAndDatabasesAreTemporary(t *testing.T) {
	w := newWorld(t)
	template := w.template(`{"op":"set","key":"","template":"{}"}`)
	for _, code := range []fleet.Code{fleet.CodeUnavailable, fleet.CodeKeyRefused, fleet.CodeRejected,
		fleet.CodeWrongPin} {
		w.fakes.evaluate = func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error) {
			return Evaluation{}, &fleet.Error{Code: code, Message: "not now"}
		}
		w.problem(http.StatusServiceUnavailable, call{method: http.MethodGet, path: template + "/evaluate"})
	}
}

func TestReadiness(t *testing.T) {
	w := newWorld(t)
	broken := fleet.Impairment{Part: fleet.PartDatabase, Blocking: true, Reason: "the disk is full", Next: "Make room."}
	worse := fleet.Impairment{Part: fleet.PartDescriptors, Reason: "few are left", Next: "Raise the limit."}
	w.with(func(o *setup) { o.Health = impaired{broken, worse} })
	problem := w.problem(http.StatusServiceUnavailable, call{method: http.MethodGet, path: "/readyz", token: "-"})
	want := []api.ProblemDetail{{Field: "database", Message: "the disk is full. Make room."}}
	if !slices.Equal(problem.Errors, want) {
		t.Errorf("got %+v, want what keeps the service from its work: %+v", problem.Errors, want)
	}
	if got := w.want(http.StatusOK, call{method: http.MethodGet, path: "/healthz",
		token: "-"}); got != `{"status":"ok"}` {
		t.Errorf("got %s", got)
	}
	w.with(func(o *setup) { o.Health = impaired{worse} })
	if got := w.want(http.StatusOK, call{method: http.MethodGet, path: "/readyz",
		token: "-"}); got != `{"status":"ok","impaired":["descriptors"]}` {
		t.Errorf("got %s", got)
	}
}

type impaired []fleet.Impairment

func (i impaired) Impairments() []fleet.Impairment { return i }

func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range []fleet.Code{
		fleet.CodeInternal, fleet.CodeMalformed, fleet.CodeUnauthorized, fleet.CodeForbidden, fleet.CodeNotFound,
		fleet.CodeConflict,
		fleet.CodePrecondition, fleet.CodeTooLarge, fleet.CodeInvalid, fleet.CodeTooMany, fleet.CodeUnavailable,
		fleet.CodeUnsupported,
		fleet.CodeRejected, fleet.CodeKeyRefused, fleet.CodeWrongDevice, fleet.CodeWrongPin, fleet.CodeUnconfirmed,
		fleet.CodeUnbelievable,
	} {
		if statusOf[code] < 400 {
			t.Errorf("%s has no status", code)
		}
	}
}

// A wrong token is 401, however often it is sent: nobody guesses 256 bits.
func TestAWrongTokenIsAlways401(t *testing.T) {
	w := newWorld(t)
	for range 100 {
		w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + "/tags", token: "muster_wrong"})
	}
	w.get(Prefix + "/tags")
}
