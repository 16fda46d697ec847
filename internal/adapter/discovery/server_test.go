package discovery

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

func TestServerURLsAreReadAsSyncthingReadsThem(t *testing.T) {
	id := string(deviceOf("server").ID)
	for name, c := range map[string]struct {
		texts []string
		urls  []string // that are asked
		off   bool
		wrong string // part of the message
	}{
		"nothing given":      {nil, []string{"https://discovery-lookup.syncthing.net/v2/"}, false, ""},
		"default":            {[]string{"default"}, []string{"https://discovery-lookup.syncthing.net/v2/"}, false, ""},
		"none":               {[]string{"none"}, nil, true, ""},
		"none beside others": {[]string{"https://d.example.org/", "none"}, nil, false, "stands alone"},
		"pinned": {[]string{"https://d.example.org:8443/?id=" + id}, []string{"https://d.example.org:8443/"},
			false, ""},
		"two": {[]string{"https://a.example.org/", "https://b.example.org/v2/?insecure"},
			[]string{"https://a.example.org/", "https://b.example.org/v2/"}, false, ""},
		"no announcements": {[]string{"https://d.example.org/?noannounce&nolookup=false"},
			[]string{"https://d.example.org/"}, false, ""},
		"announcements only": {[]string{"https://d.example.org/?nolookup"}, nil, false, ""},
		"bad id":             {[]string{"https://d.example.org/?id=ABC"}, nil, false, "not a device ID"},
		"plain":              {[]string{"http://d.example.org/"}, nil, false, "needs ?insecure"},
		"plain and insecure": {[]string{"http://d.example.org/?insecure&noannounce"}, []string{"http://d.example.org/"},
			false, ""},
		"plain with id":         {[]string{"http://d.example.org/?insecure&id=" + id}, nil, false, "shows no certificate"},
		"insecure=false":        {[]string{"http://d.example.org/?insecure=false"}, nil, false, "needs ?insecure"},
		"other scheme":          {[]string{"ftp://d.example.org/"}, nil, false, "begins with https://"},
		"a name":                {[]string{"d.example.org"}, nil, false, "it is a URL"},
		"with password":         {[]string{"https://a:b@d.example.org/"}, nil, false, "it is a URL"},
		"blank":                 {[]string{""}, nil, false, "it is a URL"},
		"control characters":    {[]string{"https://d.example.org/\x00"}, nil, false, "it is a URL"},
		"a fragment is dropped": {[]string{"https://d.example.org/#x"}, []string{"https://d.example.org/"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := New(Options{Servers: c.texts})
			if c.wrong != "" {
				if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), c.wrong) {
					t.Fatalf("got %v, want an invalid error with %q", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d.off != c.off || len(d.servers) != len(c.urls) {
				t.Fatalf("off %t with %d servers, want %t with %d", d.off, len(d.servers), c.off, len(c.urls))
			}
			for i, s := range d.servers {
				if s.url.String() != c.urls[i] {
					t.Errorf("server %d is %s, want %s", i, s.url, c.urls[i])
				}
			}
		})
	}
}

func TestThePublicServerIsAskedGently(t *testing.T) {
	for text, want := range map[string]rate.Limit{PublicServer: publicLookupPerS, "default": publicLookupPerS,
		"https://d.example.org/": ownLookupsPerS} {
		s, err := parseServer(text)
		if err != nil || s.pace.Limit() != want {
			t.Errorf("%s: %v a second, %v; want %v", text, s.pace.Limit(), err, want)
		}
	}
}

func TestAServerIsPinnedBeforeAnythingIsSent(t *testing.T) {
	s := newLookupServer(t, addresses("tcp://192.0.2.1:22000"))
	for name, c := range map[string]struct {
		query string
		found bool
		why   string
	}{
		"right id": {"?id=" + string(s.id()), true, ""},
		"wrong id": {"?id=" + string(deviceOf("other").ID), false, "another certificate than its ?id= says"},
		"wrong id insecure": {"?insecure&id=" + string(deviceOf("other").ID), false,
			"another certificate than its ?id= says"},
		"no id":    {"", false, "nobody vouches for"},
		"insecure": {"?insecure", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.asked.Load()
			d, _ := newDiscovery(t, Options{Servers: []string{s.URL + "/" + c.query}})
			if c.found {
				mustResolve(t, d, deviceOf("a"))
				return
			}
			if e := mustNotFind(t, d, deviceOf("a")); !strings.Contains(e.Message, c.why) {
				t.Errorf("message %q lacks %q", e.Message, c.why)
			}
			if s.asked.Load() != before {
				t.Error("the question was sent to a server that is not the pinned one")
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newLookupServer(t, addresses("tcp://192.0.2.66:22000"))
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := newLookupServer(t, status(code, "Location", elsewhere.URL))
		d, _ := newDiscovery(t, Options{Servers: []string{s.URL + "/?insecure"}})
		if e := mustNotFind(t, d, deviceOf("a")); !strings.Contains(e.Message, "not followed") {
			t.Errorf("%d: message %q", code, e.Message)
		}
	}
	if n := elsewhere.asked.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestAFloodOfBytesIsCutOff(t *testing.T) {
	var sent atomic.Int64
	s := newLookupServer(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat(`{"addresses":[`, 4096))
		for {
			n, err := w.Write(chunk)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	d, _ := newDiscovery(t, Options{Servers: []string{s.pinned()}})
	if e := mustNotFind(t, d, deviceOf("a")); !strings.Contains(e.Message, "far too much") {
		t.Errorf("message %q", e.Message)
	}
	s.Close() // waits for the handler: it ends, because nobody reads on
	if got := sent.Load(); got > 64<<20 {
		t.Errorf("the server got rid of %d bytes", got)
	}
}
