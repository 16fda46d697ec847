package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
)

// cheap is a cost for tests.
var cheap = PasswordCost{MemoryKiB: 64, Passes: 1, Lanes: 1}

func TestAHashOfAnotherProgramIsUnderstood(t *testing.T) {
	// from the test suite of the reference implementation
	const theirs = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
	p := newPasswords(cheap)
	for password, want := range map[string]bool{"password": true, "Password": false, "": false} {
		matches, outdated, err := p.compare(t.Context(), password, theirs)
		if err != nil || matches != want || !outdated {
			t.Errorf("%q: got %t, outdated %t, %v", password, matches, outdated, err)
		}
	}
}

func TestAHashKeepsItsCost(t *testing.T) {
	p := newPasswords(cheap)
	one, err := p.hash(t.Context(), "correct horse battery")
	if err != nil || !strings.HasPrefix(one, "$argon2id$v=19$m=64,t=1,p=1$") {
		t.Fatalf("got %q, %v", one, err)
	}
	if two, err := p.hash(t.Context(), "correct horse battery"); err != nil || two == one {
		t.Errorf("got the same hash twice, %v: it has no salt", err)
	}
	for cost, want := range map[PasswordCost]bool{cheap: false, {MemoryKiB: 128, Passes: 1, Lanes: 1}: true} {
		if matches, outdated, err := newPasswords(cost).compare(t.Context(), "correct horse battery", one); !matches ||
			outdated != want || err != nil {
			t.Errorf("%+v: got %t, outdated %t, %v", cost, matches, outdated, err)
		}
	}
	composed, decomposed := "\u00e9ltet\u0151 bitumen", "e\u0301lteto\u030b bitumen" // as two keyboards type it
	hash, err := p.hash(t.Context(), composed)
	if err != nil {
		t.Fatal(err)
	}
	if matches, _, err := p.compare(t.Context(), decomposed, hash); !matches || err != nil {
		t.Errorf("the other spelling of the same letters does not match, %v", err)
	}
}

func TestAStoredHashThatWasTamperedWithCostsNothing(t *testing.T) {
	p := newPasswords(cheap)
	for _, hash := range []string{
		"x", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1000000,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=0,p=0$c29tc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=64,t=1,p=1$c29tc2FsdA$", "$argon2id$v=19$m=64,t=1,p=1$?$CTFh",
	} {
		if matches, _, err := p.compare(t.Context(), "password", hash); matches || err == nil {
			t.Errorf("%s: got %t, %v", hash, matches, err)
		}
	}
	if made := p.made.Load(); made != 0 {
		t.Errorf("%d hashes were made", made)
	}
}

func TestFewHashesAreMadeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPasswords(cheap)
		for range cap(p.slots) { // as many as there may be are being made
			p.slots <- struct{}{}
		}
		failures := make(chan error, hashWaiters)
		for range hashWaiters {
			go func() {
				_, err := p.hash(t.Context(), "correct horse battery")
				failures <- err
			}()
		}
		synctest.Wait()
		if _, err := p.hash(t.Context(), "one too many"); fleet.CodeOf(err) != fleet.CodeTooMany {
			t.Errorf("got %v, want it refused at once", err)
		}
		for range hashWaiters {
			if err := <-failures; fleet.CodeOf(err) != fleet.CodeTooMany { // after hashWait
				t.Errorf("got %v, want too_many", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.hash(ctx, "the client is gone"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if made := p.made.Load(); made != 0 {
			t.Errorf("%d hashes were made", made)
		}
	})
}

func TestWeakPasswordsAreRefused(t *testing.T) {
	for password, good := range map[string]bool{
		"": false, "short": false, "eleven char": false, "twelve chars": true, "aaaaaaaaaaaaaaaa": false,
		"Anna.Example@x": false, "\xff\xfeaaaaaaaaaaaaa": false, "with\x00 a zero byte": false,
		strings.Repeat("long ", 205): false, "пароль из слов": true,
	} {
		if err := validatePassword("anna.example@x", password); (err == nil) != good {
			t.Errorf("%q: got %v", password, err)
		}
	}
}

func TestUserNamesHaveOneSpelling(t *testing.T) {
	for name, want := range map[string]string{
		"Anna": "anna", "ａｎｎａ": "anna", "anna@example.org": "anna@example.org", "Zoë": "zoë", "Zoe\u0308": "zoë",
		"": "", " anna": "", "an na": "", "a/b": "", "a\nb": "", "Muster": "", "daemon": "", "template": "",
		"anonymous": "", strings.Repeat("x", 65): "", "<b>": "",
	} {
		got, err := UserName(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", name, got, err, want)
		}
	}
}
