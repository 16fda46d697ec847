package outbound

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"
)

func loopback(ip netip.Addr) string {
	if ip.IsLoopback() {
		return "on loopback"
	}
	return ""
}

func TestNothingIsSentToAnAddressThatIsRefused(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	at, err := url.Parse(receiver.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		refuse RefuseIP
		is     bool
	}{{nil, false}, {loopback, true}} {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
		c.refuse.Protect(transport, at)
		answer, err := (&http.Client{Transport: transport}).Get(receiver.URL)
		if err == nil {
			_ = answer.Body.Close()
		}
		var refused *RefusedError
		if errors.As(err, &refused) != c.is || (err != nil) != c.is {
			t.Errorf("refused: got %v, want %t", err, c.is)
		}
		transport.CloseIdleConnections()
	}
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "7": 7 * time.Second, " 8 ": 8 * time.Second, "999999999": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestSecretsAreReplaced(t *testing.T) {
	got := WithoutSecrets("no token-4711 in v2", []string{"token-4711", "v2"})
	if want := "no [secret] in v2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := WithoutURL(&url.Error{Op: "Post", URL: "https://h/secret", Err: errors.New("away")}); err.Error() != "away" {
		t.Error(err)
	}
}
