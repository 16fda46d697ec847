package signon

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"muster/internal/fleet"
)

// liar is a provider that says whatever a test wants. Those of certified providers are tried in test/signon.
type liar struct {
	*httptest.Server
	metadata map[string]any
	claims   map[string]any // of the ID token
	userInfo map[string]any // nil: 404
	token    func(signed string) string
	handle   func(w http.ResponseWriter, r *http.Request) bool // first; true: it has answered
	mu       sync.Mutex
	asked    map[string]int // guarded by mu; by path
}

var signingKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

const nonce = "the nonce"

func newLiar(t *testing.T) *liar {
	t.Helper()
	l := &liar{asked: map[string]int{}, token: func(signed string) string { return signed },
		handle: func(http.ResponseWriter, *http.Request) bool { return false }}
	l.Server = httptest.NewServer(l)
	t.Cleanup(l.Close)
	l.metadata = map[string]any{"issuer": l.URL, "authorization_endpoint": l.URL + "/auth",
		"token_endpoint": l.URL + "/token", "jwks_uri": l.URL + "/keys", "userinfo_endpoint": l.URL + "/me",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}}
	l.claims = map[string]any{"iss": l.URL, "aud": "muster", "sub": "1", "nonce": nonce, "groups": []any{"a", 7, "b"},
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(), "preferred_username": "anna"}
	return l
}

func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	l.asked[r.URL.Path]++
	l.mu.Unlock()
	if l.handle(w, r) {
		return
	}
	keys := oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: signingKey().Public(), KeyID: "k",
		Algorithm: "RS256"}}}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(l.metadata)
	case "/token":
		text, _ := json.Marshal(l.claims)
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "access", "token_type": "Bearer",
			"id_token": l.token(oidctest.SignIDToken(signingKey(), "k", "RS256", string(text)))})
	case "/me":
		if l.userInfo == nil {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(l.userInfo)
	default:
		keys.ServeHTTP(w, r)
	}
}

func (l *liar) askedFor(path string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[path]
}

func (l *liar) provider(t *testing.T) *Provider {
	t.Helper()
	p, err := New(Options{Issuer: l.URL, ClientID: "muster", ClientSecret: fleet.NewSecret("secret"),
		Callback: "http://127.0.0.1/ui/login/callback", GroupsClaim: "groups", NameClaim: "preferred_username",
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *Provider) redeemed(t *testing.T) (fleet.ProvenIdentity, error) {
	t.Helper()
	return p.Redeem(t.Context(), Answer{Code: "code"}, Challenge{State: "s", Nonce: nonce, Verifier: "v"})
}

func TestAnIDTokenSaysWhoItIs(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	got, err := l.provider(t).redeemed(t)
	if err != nil || got.Identity != (fleet.Identity{Issuer: l.URL, Subject: "1"}) || got.Name != "anna" ||
		strings.Join(got.Groups, " ") != "a b" {
		t.Errorf("got %+v, %v", got, err)
	}
	if l.askedFor("/me") != 0 {
		t.Error("the provider was asked for what the ID token says")
	}
}

func TestAnIDTokenThatProvesNothingIsRefused(t *testing.T) {
	t.Parallel()
	for what, lie := range map[string]func(*liar){
		"another nonce":      func(l *liar) { l.claims["nonce"] = "another" },
		"no nonce":           func(l *liar) { delete(l.claims, "nonce") },
		"another issuer":     func(l *liar) { l.claims["iss"] = "https://evil.example" },
		"another audience":   func(l *liar) { l.claims["aud"] = "another program" },
		"two audiences":      func(l *liar) { l.claims["aud"] = []string{"muster", "another program"} },
		"another party":      func(l *liar) { l.claims["azp"] = "another program" },
		"no subject":         func(l *liar) { delete(l.claims, "sub") },
		"a long subject":     func(l *liar) { l.claims["sub"] = strings.Repeat("x", 256) },
		"no expiry":          func(l *liar) { delete(l.claims, "exp") },
		"a time to come":     func(l *liar) { l.claims["iat"] = time.Now().Add(time.Hour).Unix() },
		"no ID token":        func(l *liar) { l.token = func(string) string { return "" } },
		"no signature":       func(l *liar) { l.token = unsigned },
		"a changed body":     func(l *liar) { l.token = changed },
		"its secret's HMAC":  func(l *liar) { l.token = hmacSigned },
		"another key":        func(l *liar) { l.token = otherKey },
		"another at_hash":    func(l *liar) { l.claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" },
		"another userinfo":   func(l *liar) { delete(l.claims, "groups"); l.userInfo = map[string]any{"sub": "2"} },
		"userinfo of nobody": func(l *liar) { delete(l.claims, "groups"); l.userInfo = map[string]any{"groups": "a"} },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLiar(t)
			lie(l)
			got, err := l.provider(t).redeemed(t)
			if fleet.CodeOf(err) != fleet.CodeUnauthorized {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func segments(signed string) (header, body, signature string) {
	header, rest, _ := strings.Cut(signed, ".")
	body, signature, _ = strings.Cut(rest, ".")
	return header, body, signature
}

func unsigned(signed string) string {
	_, body, _ := segments(signed)
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + body + "."
}

func changed(signed string) string {
	header, body, signature := segments(signed)
	plain, _ := base64.RawURLEncoding.DecodeString(body)
	plain = []byte(strings.Replace(string(plain), `"sub":"1"`, `"sub":"2"`, 1))
	return header + "." + base64.RawURLEncoding.EncodeToString(plain) + "." + signature
}

func hmacSigned(signed string) string {
	_, body, _ := segments(signed)
	plain, _ := base64.RawURLEncoding.DecodeString(body)
	return oidctest.SignIDToken([]byte("secretsecretsecretsecretsecretse"), "k", "HS256", string(plain))
}

func otherKey(signed string) string {
	_, body, _ := segments(signed)
	plain, _ := base64.RawURLEncoding.DecodeString(body)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return oidctest.SignIDToken(key, "k", "RS256", string(plain))
}

func TestWhatTheIDTokenDoesNotSayIsAskedFor(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	delete(l.claims, "groups")
	delete(l.claims, "preferred_username")
	l.claims["email_verified"] = true // of no address
	l.userInfo = map[string]any{"sub": "1", "groups": "staff", "email": "a@example.org", "email_verified": "false"}
	p := l.provider(t)
	p.NameClaim = "email"
	if got, err := p.redeemed(t); err != nil || strings.Join(got.Groups, " ") != "staff" || got.Name != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	l.userInfo["email_verified"] = "true"
	if got, err := p.redeemed(t); err != nil || got.Name != "a@example.org" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A provider that would have Muster send its secret, or a browser its code, over plain HTTP is refused.
func TestAProviderThatLeadsToAnInsecurePlaceIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint",
		"end_session_endpoint", "device_authorization_endpoint"} {
		for _, place := range []string{"http://id.example/x", "javascript:alert(1)", "file:///etc/passwd", "//id.example",
			"https://user:password@id.example/"} {
			l := newLiar(t)
			l.metadata[name] = place
			_, err := l.provider(t).AuthURL(t.Context(), Challenge{})
			if fleet.CodeOf(err) != fleet.CodeUnavailable || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is %s: got %v", name, place, err)
			}
		}
	}
	l := newLiar(t)
	l.metadata["issuer"] = "https://another.example"
	if _, err := l.provider(t).AuthURL(t.Context(), Challenge{}); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("the document of another issuer: got %v", err)
	}
	for _, issuer := range []string{"", "id.example", "http://id.example", "https://", "https://id.example?x=1",
		"ftp://127.0.0.1"} {
		if _, err := New(Options{Issuer: issuer, Log: slog.New(slog.DiscardHandler)}); fleet.CodeOf(err) !=
			fleet.CodeInvalid {
			t.Errorf("the issuer %q: got %v", issuer, err)
		}
	}
}

// Answers are read up to 1 MiB, redirects are not followed, and a provider that does not answer is given up.
func TestAProviderThatHoldsUpOrFloodsIsGivenUp(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	for what, lie := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"floods": func(w http.ResponseWriter, r *http.Request) bool {
			for piece := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
				if _, err := w.Write(piece); err != nil {
					break
				}
			}
			return true
		},
		"sends elsewhere": func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/elsewhere" {
				t.Error("a redirect was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return true
		},
		"is silent": func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-held:
			case <-r.Context().Done():
			}
			return true
		},
		"hangs up":   func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) bool { _, _ = io.WriteString(w, "<p>"); return true },
		"is in need": func(w http.ResponseWriter, _ *http.Request) bool { http.Error(w, "no", 500); return true },
	} {
		for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/me"} {
			l := newLiar(t)
			delete(l.claims, "groups")
			l.userInfo = map[string]any{"sub": "1"}
			l.handle = func(w http.ResponseWriter, r *http.Request) bool {
				return (r.URL.Path == path || r.URL.Path == "/elsewhere") && lie(w, r)
			}
			p := l.provider(t)
			if p.http.Timeout != askLimit {
				t.Fatalf("got the limit %v", p.http.Timeout)
			}
			if what == "is silent" {
				p.http.Timeout = 50 * time.Millisecond
			}
			got, err := p.redeemed(t)
			if code := fleet.CodeOf(err); code != fleet.CodeUnavailable && code != fleet.CodeUnauthorized ||
				len(err.Error()) > 1000 {
				t.Errorf("%s at %s: got %+v, %v", what, path, got, err)
			}
		}
	}
	close(held)
}

// A provider that is away is asked again after ten seconds, not by every request; one that was read stays known.
func TestAProviderThatIsAwayIsNotAskedByEveryRequest(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	const document = "/.well-known/openid-configuration"
	away := true
	l.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if away {
			http.Error(w, "away", http.StatusBadGateway)
		}
		return away
	}
	now := time.Now()
	p := l.provider(t)
	p.Now = func() time.Time { return now }
	ask := func(wantErr bool, wantAsked int) {
		t.Helper()
		_, err := p.AuthURL(context.Background(), Challenge{})
		if (err != nil) != wantErr || l.askedFor(document) != wantAsked {
			t.Errorf("got %v after %d requests, want an error: %v after %d", err, l.askedFor(document), wantErr, wantAsked)
		}
	}
	ask(true, 1)
	ask(true, 1)
	away, now = false, now.Add(retryAfter)
	ask(false, 2)
	ask(false, 2)
	away, now = true, now.Add(readAgain)
	ask(false, 3) // what it said an hour ago is better than nothing
	ask(false, 3)
	away, now = false, now.Add(retryAfter)
	ask(false, 4)
}

func TestThePlaceToLogOutNamesNobody(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	p := l.provider(t)
	if got := p.LogOutURL(); got != "" {
		t.Errorf("got %q before the provider was read", got)
	}
	maps.Copy(l.metadata, map[string]any{"end_session_endpoint": l.URL + "/end?realm=x"})
	if _, err := p.AuthURL(t.Context(), Challenge{}); err != nil {
		t.Fatal(err)
	}
	p.LoggedOut = "http://127.0.0.1/ui/login"
	want := l.URL + "/end?client_id=muster&post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%2Fui%2Flogin&realm=x"
	if got := p.LogOutURL(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A provider that is away was in the log and on the log-in page only.
func TestAProviderThatIsAwayIsAnImpairment(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	var away atomic.Bool
	l.handle = func(w http.ResponseWriter, _ *http.Request) bool {
		if away.Load() {
			http.Error(w, "canary", http.StatusBadGateway)
		}
		return away.Load()
	}
	p := l.provider(t)
	if i := p.Impairment(); i != nil {
		t.Errorf("before it is read: got %+v", i)
	}
	read := func() *fleet.Impairment { // as Run does
		_, _ = p.readBy(t.Context(), func() (reading, bool) { return reading{}, false })
		return p.Impairment()
	}
	if i := read(); i != nil {
		t.Errorf("while it answers: got %+v", i)
	}
	away.Store(true)
	i := read()
	if i == nil || i.Part != fleet.PartSignOn || i.Blocking || strings.Contains(i.Reason+i.Next, "canary") ||
		!strings.Contains(i.Next, l.URL+"/.well-known/openid-configuration") || !strings.Contains(i.Next, "login-link") {
		t.Fatalf("while it is away: got %+v", i)
	}
	if again := read(); again == nil || again.Reason != i.Reason { // or each reading is logged anew
		t.Errorf("got %+v, want the reason to stay", again)
	}
	away.Store(false)
	if i := read(); i != nil {
		t.Errorf("once it is back: got %+v", i)
	}
}
