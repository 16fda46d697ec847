package auth

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// recordLimit is how long the acts after the comparison of a password may take. They do not end with the request: a
	// client that hangs up must not learn whether the password was right without a trace in the audit.
	recordLimit = 20 * time.Second
	// failureTime is how long it takes at least to record a failure. Some failures are only counted, and the time that
	// an answer takes must not tell whether there is such a user.
	failureTime = 50 * time.Millisecond
)

// FailureLog records log-ins that failed.
type FailureLog interface {
	RecordBoundedBySubject(ctx context.Context, what, subject, detail string) error
}

// claim is a password that a client gives for an account.
type claim struct {
	account  string     // hash of the name, also where there is no such user
	user     fleet.User // zero where there is no such user
	password string
	from     Client
	refusal  error // the error when the password is wrong
}

// proven calls do when the claimed password is right, within the limits of log-ins and in the account's turn. do gets
// a context that outlasts the request.
func (p *People) proven(ctx context.Context, c claim, do func(ctx context.Context, outdated bool) error) error {
	try, right := attempt{c.account, c.from.Address, p.knows(c.user, c.from.Device)}, success(c.account)
	if err := p.throttle.begin(try, p.Uptime()); err != nil {
		p.log.Warn("too many attempts to log in", logkey.Address, c.from.Address)
		return err
	}
	leave, err := p.queues.enter(ctx, c.account)
	if err != nil {
		p.throttle.forgive(try) // the client learnt nothing about the password
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

// recordFailure records a failed log-in in the audit, or counts it where one account has many. It does not record a
// name that no user has, because that may be a mistyped password; all such names count together.
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
