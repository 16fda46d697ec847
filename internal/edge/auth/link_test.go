package auth

import (
	"context"
	"testing"

	"muster/internal/fleet"
)

// alteredUsers is a store whose users Muster did not write.
type alteredUsers struct{ PeopleStore }

func (a alteredUsers) Users(ctx context.Context) ([]fleet.User, error) {
	users, err := a.PeopleStore.Users(ctx)
	for i := range users {
		users[i].Altered = true
	}
	return users, err
}

// A start printed no log-in link where the list of users was lost, so that no administrator could log in.
func TestAnAdministratorWhoCannotLogInKeepsNoLinkAway(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleAdmin)
	if code, err := p.FirstLink(t.Context()); code != "" || err != nil {
		t.Errorf("anna can log in: got a link %t, %v", code != "", err)
	}
	p.Store = alteredUsers{p.Store}
	if code, err := p.FirstLink(t.Context()); code == "" || err != nil {
		t.Errorf("anna cannot log in: got a link %t, %v", code != "", err)
	}
}
