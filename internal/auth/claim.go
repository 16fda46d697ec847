package auth

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// settleLimit is how long what comes of a password that was compared may take. It does not end with the request: a
	// client that hangs up meanwhile must not learn whether the password was right without a trace in the audit.
	settleLimit = 20 * time.Second
	// failureTime is how long a failure takes to record at least. Not each leaves a row of its own, and the time that an
	// answer takes must not tell whether there is such a user.
	failureTime = 50 * time.Millisecond
)

// claim is a password that a client gives for an account.
type claim struct {
	account  string     // hash of the name, whether or not there is such a user
	user     fleet.User // without name where there is none
	password string
	from     Client
	refusal  error // where the password is wrong
}

// proven does what a right password is for, within the limits of log-ins and in the turn of the account. Its context
// outlasts the request.
func (p *People) proven(ctx context.Context, c claim, do func(ctx context.Context, outdated bool) error) error {
	try, right := attempt{c.account, c.from.Address, p.knows(c.user, c.from.Device)}, success(c.account)
	if err := p.throttle.begin(try, p.Uptime()); err != nil {
		p.log.Warn("too many attempts to log in", logkey.Address, c.from.Address)
		return err
	}
	leave, err := p.turns.enter(ctx, c.account)
	if err != nil {
		p.throttle.forgive(try) // nothing was learnt
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	if !matches {
		p.throttle.forgive(right)
		p.recordFailure(ctx, c.user.Name, c.from)
		return c.refusal
	}
	p.throttle.forgive(try)
	return do(ctx, outdated)
}

// recordFailure leaves a row in the audit, or counts it where one account has many. A name that no user has is not
// recorded, as it may be a mistyped password; all such names count together.
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
