package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"muster/client"
	"muster/internal/fleet"
)

func TestErrorsHaveTheExitCodesOfTheManual(t *testing.T) {
	nowhere, err := client.New("http://127.0.0.1:1", "x")
	if err != nil {
		t.Fatal(err)
	}
	unreachable := nowhere.Healthy(t.Context())
	answer := func(status int) error { return &client.Error{Status: status} }
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"nothing":              {nil, 0},
		"a bug":                {errors.New("oops"), 1},
		"an internal one":      {&fleet.Error{Code: fleet.CodeInternal, Message: "x"}, 1},
		"the server failed":    {answer(http.StatusInternalServerError), 1},
		"not now":              {answer(http.StatusServiceUnavailable), 1},
		"a wrong value":        {fleet.Invalidf("pin", "no pin"), 2},
		"not read":             {&fleet.Error{Code: fleet.CodeMalformed, Message: "x"}, 2},
		"no such thing here":   {fleet.NotFoundf("no device"), 3},
		"not consented":        {&fleet.Error{Code: fleet.CodeConflict, Message: "x"}, 3},
		"unauthorized":         {answer(http.StatusUnauthorized), 3},
		"forbidden":            {answer(http.StatusForbidden), 3},
		"not found":            {answer(http.StatusNotFound), 3},
		"conflict":             {answer(http.StatusConflict), 3},
		"changed meanwhile":    {answer(http.StatusPreconditionFailed), 3},
		"not valid":            {answer(http.StatusUnprocessableEntity), 3},
		"no server":            {unreachable, 4},
		"no server, wrapped":   {fmt.Errorf("read: %w", unreachable), 4},
		"differs":              {exitCode(exitDiffers), 5},
		"interrupted":          {context.Canceled, 130},
		"waits for a person":   {waits(true), 3},
		"nothing waits":        {waits(false), 0},
		"interrupted, wrapped": {fmt.Errorf("wait: %w", context.Canceled), 130},
	} {
		var out bytes.Buffer
		if got := explain(&out, test.err); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

// refuses tells the codes of what is answered with a text that says what to do.
func refuses(code int) bool {
	return code == exitRefused || code == exitUsage || code == exitUnreachable
}
