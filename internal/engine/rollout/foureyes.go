package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// fourEyes returns why the requester must not approve rollout l while four eyes are asked for. It returns nil if the
// requester is known to be another person than those who made the changes.
func (r *Runner) fourEyes(ctx context.Context, l fleet.Rollout) error {
	makers, err := r.o.Store.MadeBy(ctx, l.Carries)
	if err != nil {
		return err
	}
	by := approver{name: fleet.ActorOf(ctx), person: fleet.PersonOf(ctx)}
	if by.person == "" {
		return by.unknown()
	}
	user, err := r.o.Store.User(ctx, by.person)
	if fleet.CodeOf(err) == fleet.CodeNotFound || err == nil && user.Disabled() {
		return by.gone()
	}
	if err != nil {
		return err
	}
	return by.check(user, makers)
}

// approver is who approves a rollout.
type approver struct {
	name   string // name of the user or token
	person string // the user, or the owner of the token; "": not known
}

// check returns why the approver, whose user is given, must not approve what makers made.
func (a approver) check(user fleet.User, makers []fleet.Maker) error {
	for _, maker := range makers {
		switch maker.Person {
		case "":
			return unknownMaker(maker)
		case a.person:
			return a.made()
		}
	}
	first := slices.MinFunc(makers, func(one, other fleet.Maker) int { return one.At.Compare(other.At) })
	if !user.AccessGivenAt.IsZero() && !user.AccessGivenAt.Before(first.At) {
		return a.newAccess()
	}
	return nil
}

func (a approver) unknown() error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("it is not known which person %q is, and another person than made the change has to approve "+
			"it (--four-eyes)", a.name),
		Hint: "Log in as a user (`muster login`), or use a token that an admin made or rotated while logged in."}
}

func (a approver) gone() error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("%s owns the token %q, and is disabled or no user any more, so the token approves nothing "+
			"(--four-eyes)", a.person, a.name),
		Hint: "Log in as a user (`muster login`), or rotate the token while logged in."}
}

func (a approver) made() error {
	who := a.person
	if a.name != a.person {
		who = fmt.Sprintf("%s, who owns the token %q,", a.person, a.name)
	}
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: who + " made the change, and another person has to approve it (--four-eyes)",
		Hint:    "Ask another admin to approve the rollout."}
}

func unknownMaker(maker fleet.Maker) error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("it is not known which person made the change of generation %d (by %s), so nobody can approve "+
			"it as another person (--four-eyes)", maker.Generation, cmp.Or(maker.Name, "muster")),
		Hint: "Undo the rollout, and make the change again: logged in, or with a token that has an owner " +
			"(`muster token list` shows it, `muster token rotate NAME` sets it)."}
}

func (a approver) newAccess() error {
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("%s was created, or was given a password or a log-in link, after the change was made, so "+
			"the person who made it may be logged in as %[1]s (--four-eyes)", a.person),
		Hint: "Ask an admin who could log in before, or undo the rollout and make the change again."}
}
