package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestReasonNeverShowsACause(t *testing.T) {
	cause := errors.New("canary in a cause")
	const internal = "an internal error; the server's log has it"
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"no error": {nil, ""},
		"a message": {&Error{Code: CodeInvalid, During: "apply plan", Message: "no such key", Err: cause},
			"no such key"},
		"a wrapped message": {fmt.Errorf("canary: %w", &Error{Code: CodeConflict, Message: "moved", Err: cause}),
			"moved"},
		"only a cause": {&Error{Code: CodeUnavailable, Err: cause}, internal},
		"a message in the cause": {&Error{Code: CodeUnavailable,
			Err: &Error{Code: CodeInvalid, Message: "inner", Err: cause}}, "inner"},
		"an internal one":          {&Error{Code: CodeInternal, Message: "canary", Err: cause}, internal},
		"another error":            {cause, internal},
		"time is up":               {fmt.Errorf("canary: %w", context.DeadlineExceeded), "it took too long"},
		"several, one for persons": {errors.Join(cause, &Error{Code: CodeInvalid, Message: "wrong"}), "wrong"},
	} {
		if got := Reason(test.err); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
