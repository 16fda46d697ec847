package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"muster/client"
)

const (
	leastWait = time.Second     // between two questions, even if the server asks for less
	mostWait  = time.Minute     // between two questions, even if the server asks for more
	busyWait  = 5 * time.Second // added each time that the server was asked too often
)

// byCode logs in without a browser of this machine: it shows a code, and waits until a person has typed it at the
// provider.
func byCode(ctx context.Context, env *environment, server *client.Client, provider string) (login, error) {
	begun, err := server.BeginDeviceLogin(ctx)
	if err != nil {
		return login{}, withHint(err)
	}
	fmt.Fprintf(env.Err, "To log in with %s, open\n\n    %s\n\nin a browser on any device, and type the code"+
		"\n\n    %s\n\n", printable(provider), printable(begun.URL), printable(begun.UserCode))
	if begun.DirectURL != "" {
		fmt.Fprintf(env.Err, "or open %s, and compare the code.\n", printable(begun.DirectURL))
	}
	fmt.Fprintf(env.Err, "Waiting until %v. A user with a password: Ctrl-C, then `muster login --user NAME`.\n",
		begun.ExpiresAt)
	wait := time.Duration(begun.IntervalS) * time.Second
	for {
		if err := pause(ctx, min(max(wait, leastWait), mostWait)); err != nil {
			return login{}, err
		}
		answer, err := server.EndDeviceLogin(ctx, begun.Handle)
		switch {
		case err != nil && passes(err) && time.Now().Before(begun.ExpiresAt.Time):
			wait += busyWait
		case err != nil:
			return login{}, withHint(err)
		case answer.Session != nil:
			return login{User: answer.User, Token: answer.Session.Token, ExpiresAt: answer.Session.ExpiresAt.Time}, nil
		default:
			wait = time.Duration(answer.IntervalS) * time.Second
		}
	}
}

// passes reports whether a failure ends by itself: the server was asked too often, or it does not reach the provider.
func passes(err error) bool {
	var answer *client.Error
	return errors.As(err, &answer) &&
		(answer.Status == http.StatusTooManyRequests || answer.Status == http.StatusServiceUnavailable)
}

func pause(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
