package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// memory is a TokenStore that keeps nothing beyond the test.
type memory struct {
	tokens      []fleet.Token
	reads       int
	usesWritten int
	broken      error
}

func (m *memory) Tokens(context.Context) ([]fleet.Token, error) {
	m.reads++
	return slices.Clone(m.tokens), m.broken
}

func (m *memory) CreateToken(_ context.Context, token fleet.Token) error {
	if slices.ContainsFunc(m.tokens, func(t fleet.Token) bool { return t.Name == token.Name }) {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "taken"}
	}
	m.tokens = append(m.tokens, token)
	return m.broken
}

func (m *memory) RotateToken(_ context.Context, token fleet.Token) error {
	i := slices.IndexFunc(m.tokens, func(t fleet.Token) bool { return t.Name == token.Name && t.Hash == token.OldHash })
	if i < 0 {
		return fleet.NotFoundf("no token %q", token.Name)
	}
	m.tokens[i] = token
	return m.broken
}

func (m *memory) TokensUsed(_ context.Context, uses map[string]fleet.TokenUse) error {
	if m.broken != nil {
		return m.broken
	}
	m.usesWritten++
	for i, token := range m.tokens {
		if use, ok := uses[token.Name]; ok {
			m.tokens[i].LastUse = use
		}
	}
	return nil
}

func (m *memory) DeleteToken(_ context.Context, name string) error {
	before := len(m.tokens)
	m.tokens = slices.DeleteFunc(m.tokens, func(t fleet.Token) bool { return t.Name == name })
	if len(m.tokens) == before {
		return fleet.NotFoundf("no token %q", name)
	}
	return nil
}

func TestPermissionsAreCumulative(t *testing.T) {
	order := []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin}
	for permission, want := range map[Permission]int{
		Read: 0, WriteTags: 1, Apply: 1, Stop: 1, WriteTemplates: 2, Approve: 3, WriteDevices: 3, WriteSettings: 3,
		ManageTokens: 3,
	} {
		for i, role := range order {
			if got := (Principal{Role: role}).May(permission); got != (i >= want) {
				t.Errorf("%s may %s: %t", role, permission, got)
			}
		}
	}
	for _, nobody := range []Principal{{}, {Role: "root"}} {
		if nobody.May(Read) || !nobody.May(Public) {
			t.Errorf("%+v may read, or not even look at public things", nobody)
		}
	}
	if (Principal{Role: fleet.RoleAdmin}).May("made up") {
		t.Error("an undeclared permission is held")
	}
}

func TestATokenIsKeptByItsHashOnly(t *testing.T) {
	store := &memory{}
	secret, token, err := NewTokens(store).Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	if !wellFormed(secret) || strings.Contains(token.Hash, secret) || len(token.Hash) != 64 || store.tokens[0] != token {
		t.Errorf("the token %q is kept as %+v", secret, store.tokens)
	}
	again, _, err := NewTokens(store).Create(t.Context(), fleet.Token{Name: "other", Role: fleet.RoleViewer})
	if err != nil || again == secret {
		t.Errorf("two tokens are the same, %v", err)
	}
}

func TestADeletedTokenIsGoneAtOnce(t *testing.T) {
	tokens := NewTokens(&memory{})
	secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	if p, ok, err := tokens.Principal(t.Context(), secret); !ok || err != nil ||
		p != (Principal{Name: "ci", Role: fleet.RoleOperator, Credential: CredentialToken}) {
		t.Fatalf("got %+v, %t, %v", p, ok, err)
	}
	if err := tokens.Delete(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if p, ok, err := tokens.Principal(t.Context(), secret); ok || err != nil {
		t.Errorf("got %+v, %t, %v after deletion", p, ok, err)
	}
}

func TestTheLastAdministratorStays(t *testing.T) {
	tokens := NewTokens(&memory{})
	for _, name := range []string{"one", "two"} {
		if _, _, err := tokens.Create(t.Context(), fleet.Token{Name: name, Role: fleet.RoleAdmin}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tokens.Delete(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Delete(t.Context(), "two"); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v, want a conflict", err)
	}
}

func TestRecognisingATokenReadsTheStoreOnce(t *testing.T) {
	store := &memory{}
	tokens := NewTokens(store)
	secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, ok, err := tokens.Principal(t.Context(), secret); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	if store.reads != 1 {
		t.Errorf("the store was read %d times", store.reads)
	}
}

func request(header, value string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	r.RemoteAddr = "127.0.0.1:1234"
	if header != "" {
		r.Header.Set(header, value)
	}
	return r
}

func TestATokenTravelsInEitherHeader(t *testing.T) {
	tokens := NewTokens(&memory{})
	secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	a := NewAuthenticator(tokens, nil)
	for _, r := range []*http.Request{
		request("Authorization", "Bearer "+secret), request("Authorization", "bearer  "+secret),
		request("X-API-Key", secret),
	} {
		if p, err := a.Authenticate(r); err != nil || p.Name != "ci" {
			t.Errorf("%v: got %+v, %v", r.Header, p, err)
		}
	}
	for name, r := range map[string]*http.Request{
		"none": request("", ""), "blank": request("Authorization", ""), "basic": request("Authorization", "Basic "+secret),
		"bare": request("Authorization", secret), "cut off": request("X-API-Key", secret[:len(secret)-1]),
		"upper": request("X-API-Key", strings.ToUpper(secret)),
		"hash":  request("X-API-Key", hashOf(secret)),
	} {
		p, err := a.Authenticate(r)
		var e *fleet.Error
		if !errors.As(err, &e) || e.Code != fleet.CodeUnauthorized || e.Hint == "" {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
}

// stuck is a store whose writes and, once it is away, reads do not get through.
type stuck struct {
	memory
	entered, release chan struct{}
	away             error
}

func (s *stuck) Tokens(ctx context.Context) ([]fleet.Token, error) {
	if s.away != nil {
		return nil, s.away
	}
	return s.memory.Tokens(ctx)
}

func (s *stuck) CreateToken(context.Context, fleet.Token) error {
	close(s.entered)
	<-s.release
	return s.away
}

func TestAWriteThatHangsKeepsNobodyOut(t *testing.T) {
	store := &stuck{entered: make(chan struct{}), release: make(chan struct{})}
	home := t.TempDir()
	if _, err := EnsureAdminToken(t.Context(), &store.memory, home); err != nil {
		t.Fatal(err)
	}
	secret, err := readSecret(filepath.Join(home, AdminTokenFile))
	if err != nil {
		t.Fatal(err)
	}
	tokens := NewTokens(store)
	recognised := func(when string) {
		t.Helper()
		if p, ok, err := tokens.Principal(t.Context(), secret); !ok || err != nil || p.Role != fleet.RoleAdmin {
			t.Errorf("%s: got %+v, %t, %v", when, p, ok, err)
		}
	}
	recognised("before")
	done := make(chan error)
	go func() {
		_, _, err := tokens.Create(t.Context(), fleet.Token{Name: "other", Role: fleet.RoleViewer})
		done <- err
	}()
	<-store.entered
	recognised("while a write hangs")
	store.away = errors.New("away")
	close(store.release)
	if err := <-done; !errors.Is(err, store.away) {
		t.Errorf("got %v", err)
	}
	recognised("after it failed")
	if err := tokens.Delete(t.Context(), "other"); !errors.Is(err, store.away) {
		t.Errorf("got %v", err)
	}
	tokens.stale("")
	recognised("while tokens cannot be read")
	tokens.stale(adminTokenName)
	if _, ok, _ := tokens.Principal(t.Context(), secret); ok {
		t.Error("a token that was deleted is recognised while tokens cannot be read")
	}
}

// hanging is a store whose reads do not come back.
type hanging struct{ memory }

func (h *hanging) Tokens(ctx context.Context) ([]fleet.Token, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAReadThatHangsKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{}
		secret, _, err := NewTokens(&store.memory).Create(t.Context(), fleet.Token{Name: "a", Role: fleet.RoleOperator})
		if err != nil {
			t.Fatal(err)
		}
		tokens := NewTokens(&store.memory)
		recognised := func() bool {
			t.Helper()
			p, ok, err := tokens.Principal(t.Context(), secret)
			if ok && (err != nil || p.Role != fleet.RoleOperator) {
				t.Errorf("got %+v, %v", p, err)
			}
			return ok
		}
		if !recognised() {
			t.Fatal("not recognised while the store answers")
		}
		tokens.store = store
		tokens.stale("")
		if !recognised() {
			t.Error("not recognised while reads hang")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, ok, err := tokens.Principal(ctx, "unknown"); ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an unknown token while reads hang: got %t, %v", ok, err)
		}
	})
}

func TestABrokenStoreIsNoWrongToken(t *testing.T) {
	broken := &fleet.Error{Code: fleet.CodeUnavailable, Message: "the database is away"}
	a := NewAuthenticator(NewTokens(&memory{broken: broken}), nil)
	if _, err := a.Authenticate(request("X-API-Key", "x")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestTheFirstStartMakesAnAdministratorsToken(t *testing.T) {
	home, store := t.TempDir(), &memory{}
	created, err := EnsureAdminToken(t.Context(), store, home)
	if err != nil || !created {
		t.Fatal(created, err)
	}
	path := filepath.Join(home, AdminTokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v; want 0600", info, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, ok, err := NewTokens(store).Principal(t.Context(), strings.TrimSpace(string(content)))
	if !ok || err != nil || p.Role != fleet.RoleAdmin {
		t.Errorf("the token in the file is %+v, %t, %v", p, ok, err)
	}
	if created, err := EnsureAdminToken(t.Context(), store, home); created || err != nil {
		t.Errorf("the second start: %t, %v", created, err)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(content) {
		t.Errorf("the file changed: %q, %v", again, err)
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) != 1 {
		t.Errorf("%v was left behind, %v", left, err)
	}
}

func TestALostAdministratorsTokenIsRenewed(t *testing.T) {
	home, store := t.TempDir(), &memory{}
	path := filepath.Join(home, AdminTokenFile)
	if _, err := EnsureAdminToken(t.Context(), store, home); err != nil {
		t.Fatal(err)
	}
	lost, err := readSecret(path)
	if err != nil || os.Remove(path) != nil {
		t.Fatal(err)
	}
	other, _, err := NewTokens(store).Create(t.Context(), fleet.Token{Name: "other", Role: fleet.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also where there is one
		if created, err := RenewAdminToken(t.Context(), store, home); !created || err != nil {
			t.Fatal(created, err)
		}
	}
	renewed, err := readSecret(path)
	if err != nil {
		t.Fatal(err)
	}
	tokens := NewTokens(store)
	for secret, want := range map[string]fleet.Role{renewed: fleet.RoleAdmin, other: fleet.RoleViewer, lost: ""} {
		if p, _, err := tokens.Principal(t.Context(), secret); err != nil || p.Role != want {
			t.Errorf("got the role %q, %v; want %q", p.Role, err, want)
		}
	}
}

func TestAHomeThatCannotBeWrittenSaysWhatToDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, make := range []func(context.Context, TokenStore, string) (bool, error){EnsureAdminToken, RenewAdminToken} {
		_, err := make(t.Context(), &memory{}, filepath.Join(file, "home"))
		var e *fleet.Error
		if !errors.As(err, &e) || e.Hint == "" {
			t.Errorf("got %v, want an error with a hint", err)
		}
	}
}

func TestAnAdministratorsFileOutlivesItsDatabase(t *testing.T) {
	home := t.TempDir()
	if _, err := EnsureAdminToken(t.Context(), &memory{}, home); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, AdminTokenFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	fresh := &memory{}
	if created, err := EnsureAdminToken(t.Context(), fresh, home); err != nil || !created {
		t.Fatal(created, err)
	}
	if _, ok, err := NewTokens(fresh).Principal(t.Context(), strings.TrimSpace(string(before))); !ok || err != nil {
		t.Error("the token of the file was not taken over", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to others: %v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("not a token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureAdminToken(t.Context(), &memory{}, home); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !wellFormed(strings.TrimSpace(string(after))) {
		t.Errorf("got %q, %v; want a new token in the place of garbage", after, err)
	}
}

func TestATokenThatMusterDidNotWriteIsRefused(t *testing.T) {
	store := &memory{}
	tokens := NewTokens(store)
	secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	store.tokens[0].Altered = true
	p, err := NewAuthenticator(tokens, nil).Authenticate(request("X-API-Key", secret))
	if !errors.Is(err, ErrAltered) || fleet.CodeOf(err) != fleet.CodeUnauthorized || p != (Principal{Name: "ci"}) {
		t.Errorf("got %+v, %v", p, err)
	}
	if err := tokens.Delete(t.Context(), "ci"); err != nil { // it is no administrator's
		t.Error(err)
	}
}
