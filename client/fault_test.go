package client

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"muster/api"
)

// A caller outside the repository reads the hint by types of this package.
func TestEachFaultHasAHintForOthers(t *testing.T) {
	for name, one := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*Client) error
		want   Code
	}{
		"broke off": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				_, _ = fmt.Fprint(w, `{"deviceID":`)
			}, func(c *Client) error { _, err := c.Device(t.Context(), "x"); return err }, CodeUnavailable,
		},
		"not understood": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") },
			func(c *Client) error { _, err := c.Device(t.Context(), "x"); return err }, CodeInternal,
		},
		"no stream": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "{}") },
			func(c *Client) error {
				_, err := c.Events(t.Context(), EventFilter{}, 0, func(api.Event) error { return nil })
				return err
			}, CodeInternal,
		},
		"an event that is not understood": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", api.EventStream)
				_, _ = fmt.Fprint(w, "data: <html>\n\n")
			},
			func(c *Client) error {
				_, err := c.Events(t.Context(), EventFilter{}, 0, func(api.Event) error { return nil })
				return err
			}, CodeInternal,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := one.ask(serve(t, one.answer))
			var bad *BadAnswer
			if !errors.As(err, &bad) || bad.Hint() == "" || HintOf(err) != bad.Hint() || CodeOf(err) != one.want {
				t.Errorf("got %T %v, with the code %q and the hint %q", err, err, CodeOf(err), HintOf(err))
			}
		})
	}
	for _, address := range []string{"", "127.0.0.1:2525", "ftp://host", "http://", "::"} {
		_, err := New(address, "")
		var bad *BadAddress
		if !errors.As(err, &bad) || bad.Hint() == "" || HintOf(err) != bad.Hint() || CodeOf(err) != CodeInvalid {
			t.Errorf("%q: got %T %v", address, err, err)
		}
	}
	if HintOf(errors.New("of another package")) != "" || HintOf(nil) != "" {
		t.Error("an error of another package has a hint")
	}
}
