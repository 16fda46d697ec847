package fleet

import (
	"errors"
	"testing"
)

func TestAnErrorSaysItsCauseOnce(t *testing.T) {
	cause := errors.New("address already in use")
	for want, e := range map[string]*Error{
		"listen: cannot listen: address already in use": {During: "listen",
			Message: "cannot listen: address already in use", Err: cause},
		"listen: cannot listen: address already in use ": {During: "listen", Message: "cannot listen",
			Err: errors.New("address already in use ")},
		"address already in use": {Err: cause},
		"cannot listen":          {Message: "cannot listen"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
