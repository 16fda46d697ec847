package httpapi

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// ask is a GET as a client sends it that accepts some codings.
func (w *world) ask(role fleet.Role, path, accepts string, more http.Header) *http.Response {
	w.t.Helper()
	header := more.Clone()
	if header == nil {
		header = http.Header{}
	}
	if accepts != "" {
		header.Set("Accept-Encoding", accepts)
	}
	return w.do(call{method: http.MethodGet, path: path, role: role, header: header})
}

// contentOf is the content of an answer, unpacked where it is packed.
func contentOf(t *testing.T, resp *http.Response) string {
	t.Helper()
	var from io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		from = unpacked
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manyDevices is a world whose lists are long enough to be compressed.
func manyDevices(t *testing.T) *stocked {
	t.Helper()
	w := newStocked(t)
	for i := range byte(20) {
		w.stand(fleet.DeviceIDOf([32]byte{i + 1}), fmt.Sprint("device ", i), fleet.State{Connection: fleet.Online,
			Configuration: fleet.ConfigInSync}, fleet.Snapshot{})
	}
	return w
}

func TestLargeAnswersAreCompressedForThoseWhoAcceptIt(t *testing.T) {
	w := manyDevices(t)
	for _, path := range []string{"/inventory", "/devices", "/states", "/openapi.json"} {
		plain := w.ask(fleet.RoleViewer, Prefix+path, "", nil)
		want := contentOf(t, plain)
		if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Length") != fmt.Sprint(len(want)) ||
			plain.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s as it is: %v", path, plain.Header)
		}
		for _, accepts := range []string{"gzip", "br, GZIP;q=0.5", "deflate, *"} {
			packed := w.ask(fleet.RoleViewer, Prefix+path, accepts, nil)
			length := packed.Header.Get("Content-Length")
			encoding, vary := packed.Header.Get("Content-Encoding"), packed.Header.Get("Vary")
			if got := contentOf(t, packed); encoding != "gzip" || vary != "Accept-Encoding" || length != "" || got != want {
				t.Errorf("%s for %q: %v, %d bytes instead of %d", path, accepts, packed.Header, len(got), len(want))
			}
		}
		for _, accepts := range []string{"identity", "br", "gzip;q=0", "gzip; q=0.0, *"} {
			if got := w.ask(fleet.RoleViewer, Prefix+path, accepts, nil); got.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s for %q is %s", path, accepts, got.Header.Get("Content-Encoding"))
			}
		}
	}
}

func TestSmallAnswersAreNotCompressed(t *testing.T) {
	w := manyDevices(t)
	for _, path := range []string{"/version", "/inventory?limit=1", "/nothing", "/devices?limit=x"} {
		got := w.ask(fleet.RoleViewer, Prefix+path, "gzip", nil)
		if got.Header.Get("Content-Encoding") != "" || got.Header.Get("Content-Length") == "" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
}

// An answer with a secret whose length tells how well it was compressed would give the secret away to somebody who
// chooses other text in the same answer and sees its length (BREACH).
func TestAnswersThatMayShowSecretsAreNotCompressed(t *testing.T) {
	w := manyDevices(t)
	list := Prefix + "/devices"
	if got := w.ask(fleet.RoleAdmin, list, "gzip", nil); got.Header.Get("Content-Encoding") != "" ||
		!strings.Contains(contentOf(t, got), key) {
		t.Errorf("the API keys of devices: %v", got.Header)
	}
	if got := w.ask(fleet.RoleViewer, list, "gzip", nil); got.Header.Get("Content-Encoding") != "gzip" ||
		strings.Contains(contentOf(t, got), key) {
		t.Errorf("devices without API keys: %v", got.Header)
	}
	for _, rt := range w.api.routes {
		out := reply{etag: `"a"`, body: make([]byte, 10*leastCompressed), secret: rt.volatile}
		r, err := http.NewRequestWithContext(t.Context(), rt.method, "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.compressible(r), rt.method == http.MethodGet && !rt.volatile; got != want {
			t.Errorf("%s may be compressed: %v, want %v", rt.name, got, want)
		}
	}
}

func TestBothFormsOfAnAnswerMeetConditions(t *testing.T) {
	w := manyDevices(t)
	list := Prefix + "/inventory"
	plain := w.ask(fleet.RoleViewer, list, "", nil).Header.Get("ETag")
	packed := w.ask(fleet.RoleViewer, list, "gzip", nil).Header.Get("ETag")
	if plain == packed || plainETag(packed) != plain {
		t.Fatalf("the forms have the ETags %s and %s", plain, packed)
	}
	for _, known := range []string{plain, packed, "W/" + packed} {
		for _, accepts := range []string{"", "gzip"} {
			got := w.ask(fleet.RoleViewer, list, accepts, http.Header{"If-None-Match": {known}})
			if got.StatusCode != http.StatusNotModified || got.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("known %s, accepts %q: %d %v", known, accepts, got.StatusCode, got.Header)
			}
		}
	}
}

// failing is a document that breaks off.
func failing(w io.Writer) error {
	if _, err := io.WriteString(w, strings.Repeat("x", 4*leastCompressed)); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

func TestACompressedAnswerThatBreaksOffAbortsTheConnection(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			t.Error("the client takes a part for the whole")
		}
	}()
	reply{document: failing}.writeCompressed(io.Discard)
}

func TestAWriteMeetsTheETagOfTheCompressedForm(t *testing.T) {
	w := newWorld(t)
	body := func(label string) string {
		return `{"label":"` + label + `","op":"set","key":"gui","template":"` + strings.Repeat(" ", 3000) + `{}"}`
	}
	path := w.template(body("first"))
	got := w.ask(fleet.RoleAdmin, path, "gzip", nil)
	if got.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("the template is not compressed: %v", got.Header)
	}
	put := call{method: http.MethodPut, path: path, body: body("second"),
		header: http.Header{"If-Match": {got.Header.Get("ETag")}}}
	w.want(http.StatusOK, put)
	w.want(http.StatusPreconditionFailed, put)
}
