package discovery

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A hostile answer and the hosts that may come of it: mostly none.
type hostile struct {
	name   string
	answer http.HandlerFunc
	hosts  []string
}

// hostileAddresses are announced addresses that lead to no device.
func hostileAddresses() []string {
	var all []string
	hosts := []string{ // that no device may have, in every spelling somebody may think of
		"127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "localhost.", "a.localhost", "[::1]", "[0:0:0:0:0:0:0:1]",
		"[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "169.254.169.254", "[fe80::1]",
		"[fe80::1%25eth0]",
		"[::ffff:169.254.169.254]", "0.0.0.0", "[::]", "0.0.0.1", "224.0.0.1", "239.255.255.250", "[ff02::1]",
		"[ff12::8384]", "255.255.255.255",
		"240.0.0.1", "127.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "127.0.0.1.0", "1.2.3",
		"<nil>", "<nil", "a<b",
		"-", "a..b", "..", "-a", "a_b-.c", "%31", "a%2fb", "a%00b", "é", "xn--", strings.Repeat("a", 64),
		strings.Repeat("a.", 127) + "a", "[", "]", "[]", "[1", "1]",
		"[::g]", "[1::2::3]", "[192.0.2.1]", "192.0.2.1,192.0.2.2", "192.0.2.1;", "a b", "a\\tb", "$(id)", "`id`", "'",
		"user@192.0.2.1", "user:pass@192.0.2.1", "@192.0.2.1",
	}
	for _, host := range hosts {
		for _, scheme := range []string{"tcp", "quic"} {
			if host == "a_b-.c" && scheme == "quic" || host == "xn--" {
				continue
			}
			all = append(all, scheme+"://"+host+":22000")
		}
	}
	for _, scheme := range []string{"", "http", "https", "relay", "udp", "unix", "file", "javascript", "tcp5", "ws",
		"kcp", "dynamic+https", "ftp", "gopher", "ssh", "data"} {
		all = append(all, scheme+"://192.0.2.1:22000")
	}
	for _, port := range []string{":0", ":65536", ":-1", ":99999999999", ":x", ":0x50", ":22000:22000", ":+80", ":٢٢"} {
		all = append(all, "tcp://192.0.2.1"+port)
	}
	for _, rest := range []string{"/path", "/../x", "?query", "?", "#fragment", "/?id=X", ";x", "\\\\x"} {
		all = append(all, "tcp://192.0.2.1:22000"+rest)
	}
	return append(all, "", " ", "tcp", "tcp:", "tcp:/", "tcp://", "tcp:///", "tcp://:", "tcp://:22000",
		"tcp:192.0.2.1:22000", "192.0.2.1:22000", "//192.0.2.1:22000",
		"tcp4://[2001:db8::1]:22000", "tcp6://192.0.2.1:22000", "tcp6://[::ffff:192.0.2.1]:22000", "dynamic",
		"dynamic+tcp://192.0.2.1:22000", "tcp://192.0.2.1:22000\\n", "\\u0000",
		"tcp://192.0.2.1:22000 ", " tcp://192.0.2.1:22000", "tcp://192.0.2.1:22000\\r\\nX-API-Key: x",
		"tcp://"+strings.Repeat("9", 500), strings.Repeat("tcp://", 100))
}

func hostileAnswers(t *testing.T) []hostile {
	var all []hostile
	for _, a := range hostileAddresses() {
		all = append(all, hostile{"address " + a, addresses(a), nil})
	}
	all = append(all,
		hostile{"a good one among bad ones", addresses("tcp://127.0.0.1:22000", "relay://192.0.2.9:443",
			"tcp://192.0.2.1:22000", "http://evil"), []string{"192.0.2.1"}},
		hostile{"a name that looks like loopback", addresses("tcp://127.0.0.1.example:5"), []string{"127.0.0.1.example"}},
		hostile{"10,000 hosts", body(`{"addresses":[` + strings.TrimSuffix(strings.Repeat(`"tcp://127.0.0.1:1",`, 63), ",") +
			strings.Repeat(`,"tcp://192.0.2.1:22000"`, 1000) + `]}`), []string{"192.0.2.1"}},
		hostile{"the good one too late", body(`{"addresses":[` + strings.Repeat(`"tcp://127.0.0.1:1",`, 100) +
			`"tcp://192.0.2.1:22000"]}`), nil},
	)
	good := `{"addresses":["tcp://192.0.2.1:22000"]}`
	for name, text := range map[string]string{
		"empty": "", "null": "null", "number": "7", "text": `"x"`, "list": `["tcp://192.0.2.1:22000"]`,
		"object without addresses": "{}",
		"addresses null":           `{"addresses":null}`, "addresses text": `{"addresses":"tcp://192.0.2.1:22000"}`,
		"addresses number": `{"addresses":1}`,
		"addresses object": `{"addresses":{"0":"tcp://192.0.2.1:22000"}}`, "addresses empty": `{"addresses":[]}`,
		"address number": `{"addresses":[1]}`,
		"address null":   `{"addresses":[null]}`, "address object": `{"addresses":[{}]}`,
		"address list": `{"addresses":[["tcp://192.0.2.1:22000"]]}`,
		"HTML":         "<html><body>log in here</body></html>", "cut": good[:20], "two documents": good + good,
		"trailing": good +
			"x",
		"deep lists": strings.Repeat("[", 20000), "deep objects": strings.Repeat(`{"a":`, 10000),
		"deep addresses":    `{"addresses":` + strings.Repeat("[", 15000) + strings.Repeat("]", 15000) + "}",
		"one byte too much": good + strings.Repeat(" ", maxAnswerBytes), "long text": `{"addresses":["tcp://` +
			strings.Repeat("a", 60000) + `"]}`,
		"zero bytes": strings.Repeat("\x00", 1000), "invalid UTF-8": "{\"addresses\":[\"tcp://\xff\xfe:22000\"]}",
		"BOM":           "\ufeff" + good,
		"single quotes": strings.ReplaceAll(good, `"`, "'"), "comments": "/* */" + good, "huge number": `{"addresses":[` +
			strings.Repeat("9", 10000) + `]}`,
	} {
		all = append(all, hostile{"body: " + name, body(text), nil})
	}
	for code := 201; code < 600; code += 7 {
		all = append(all, hostile{fmt.Sprintf("status %d with a body", code), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(good))
		}, nil})
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 10<<20)); err != nil || z.Close() != nil {
		t.Fatal("gzip")
	}
	return append(all,
		hostile{"gzip bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, nil},
		hostile{"hangs up at once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil},
		hostile{"hangs up in the middle", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(good))
			panic(http.ErrAbortHandler)
		}, nil},
		hostile{"a megabyte of header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Large", strings.Repeat("x", 1<<20))
			_, _ = w.Write([]byte(good))
		}, nil},
		hostile{"redirect to itself",
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, nil},
		hostile{"redirect to a file", status(302, "Location", "file:///etc/passwd"), nil},
		hostile{"asks for a password", status(401, "WWW-Authenticate", "Basic"), nil},
		hostile{"sets cookies", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "a=b")
			_, _ = w.Write([]byte(good))
		}, []string{"192.0.2.1"}},
		hostile{"another type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(good))
		}, []string{"192.0.2.1"}},
	)
}

func TestHostileAnswersLeadNowhere(t *testing.T) {
	answers := hostileAnswers(t)
	if len(answers) < 200 {
		t.Fatalf("only %d hostile answers", len(answers))
	}
	s := newLookupServer(t, nil)
	s.Config.ErrorLog = nil
	d, clock := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	for i, h := range answers {
		s.says(h.answer)
		device := deviceOf(fmt.Sprint(i))
		before := s.asked.Load()
		got, err := d.find(context.Background(), device, true, nil)
		if len(h.hosts) == 0 && fleet.CodeOf(err) != fleet.CodeNotFound || len(h.hosts) != len(got) {
			t.Errorf("%s: got %+v, %v; want %v", h.name, got, err, h.hosts)
			continue
		}
		for i, want := range h.hosts {
			if got[i].Host != want {
				t.Errorf("%s: got %+v, want %v", h.name, got, h.hosts)
			}
		}
		// Go repeats a GET on a fresh connection
		if asked := s.asked.Load() - before; asked != 1 && h.name != "hangs up at once" {
			t.Errorf("%s: the server was asked %d times", h.name, asked)
		}
		checkTold(t, h.name, err)
		clock.forward(maxWait) // a server that was too bad rests
	}
	s.seen.Range(func(name, _ any) bool {
		if header := name.(string); header != "User-Agent" && header != "Connection" {
			t.Errorf("the server was sent %s", header)
		}
		return true
	})
}

// checkTold: the reason is for a person, and nothing hostile gets into it.
func checkTold(t *testing.T, name string, err error) {
	t.Helper()
	var e *fleet.Error
	if !errors.As(err, &e) {
		return
	}
	text := e.Message + e.Hint
	if len(text) > 600 || strings.ContainsAny(text, "<>\x00\r\n") || strings.Contains(text, "the-api-key") {
		t.Errorf("%s: told as %q", name, text)
	}
}
