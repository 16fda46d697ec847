package auth

import (
	"testing"

	"muster/internal/fleet"
)

func TestDisablingAUserEndsTheSessionsAtOnce(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleAdmin)
	p.user("bert", fleet.RoleOperator)
	first, second := p.login("bert"), p.login("bert")
	for _, started := range []Started{first, second} {
		if _, err := p.who(started.Token); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.DisableUser(t.Context(), "Bert"); err != nil {
		t.Fatal(err)
	}
	p.wantEnded(first.Token, "the user is disabled")
	p.wantEnded(second.Token, "the user is disabled")
	_, err := p.LogIn(t.Context(), "bert", goodPassword, Client{Address: "192.0.2.7"})
	if fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("the right password: got %v", err)
	}
	_, err = p.LogIn(t.Context(), "bert", "a wrong password", Client{Address: "192.0.2.7"})
	if fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("a wrong password: got %v, which tells that there is such a user", err)
	}
	entries, err := p.store.Audit(t.Context(), fleet.AuditQuery{What: "login.fail"})
	if err != nil || len(entries) == 0 {
		t.Errorf("got %+v, %v: a log-in that was refused is not in the audit", entries, err)
	}
	if _, err := p.EnableUser(t.Context(), "bert"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.who(p.login("bert").Token); err != nil {
		t.Error(err)
	}
}
