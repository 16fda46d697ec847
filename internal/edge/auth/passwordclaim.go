package auth

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// recordLimit is the time limit of the work after a password was compared. This work goes on if the request ends:
	// otherwise a client that hangs up could learn whether the password was right without an entry in the audit.
	recordLimit = 20 * time.Second
	// failureTime is the shortest time that recordFailure takes. Some failures are only counted, which is faster. Without
	// this minimum a client could find out by the time whether a user exists.
	failureTime = 50 * time.Millisecond
)

// FailureLog records log-ins that failed.
type FailureLog interface {
	RecordBoundedBySubject(ctx context.Context, what, subject, detail string) error
}

// claim is a client's claim to know the password of an account.
type claim struct {
	account  string     // hash of the claimed name, whether or not it is a user's
	user     fleet.User // zero if no user has the name
	password string
	from     Client
	refusal  error // the error when the password is wrong
}

// proven calls do if the claimed password is right, otherwise it returns c.refusal. Before that it waits for the
// account's turn and checks the limits of log-ins. do gets a context that outlasts the request; outdated reports
// whether the stored hash is outdated.
func (p *People) proven(ctx context.Context, c claim, do func(ctx context.Context, outdated bool) error) error {
	try, right := attempt{c.account, c.from.Address, p.knows(c.user, c.from.Device)}, success(c.account)
	if err := p.throttle.begin(try, p.Uptime()); err != nil {
		p.log.Warn("too many attempts to log in", logkey.Address, c.from.Address)
		return err
	}
	leave, err := p.queues.enter(ctx, c.account)
	if err != nil {
		p.throttle.forgive(try) // The client learnt nothing about the password.
		return err
	}
	defer leave()
	if err := p.throttle.begin(right, p.Uptime()); err != nil {
		p.throttle.forgive(try)
		p.log.Warn("too many log-ins of one user", logkey.Address, c.from.Address)
		return err
	}
	matches, outdated, err := p.passwords.compare(ctx, c.password, c.user.Password)
	if err != nil {
		p.throttle.forgive(try)
		p.throttle.forgive(right)
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	if !matches {
		p.throttle.forgive(right)
		p.recordFailure(ctx, c.user.Name, c.from)
		return c.refusal
	}
	p.throttle.forgive(try)
	return do(ctx, outdated)
}

// recordFailure records a failed log-in in the audit. If one account has many failures, further ones are only counted.
// user is "" if no user has the name that was typed: such a name is never recorded, because people sometimes type a
// password there. All such failures count together.
func (p *People) recordFailure(ctx context.Context, user string, from Client) {
	took := time.NewTimer(failureTime)
	detail := "wrong password, from " + from.Address
	if user == "" {
		detail = "no such user, from " + from.Address
	}
	err := p.Store.RecordBoundedBySubject(fleet.WithActor(ctx, fleet.Anonymous), "login.fail", user, detail)
	if err != nil {
		p.log.Error("a failed log-in is not in the audit", logkey.Address, from.Address, logkey.Err(err))
	}
	<-took.C
}
