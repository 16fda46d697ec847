package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"muster/client"
	"muster/internal/fleet"
)

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The server restarts while a command follows: the stream of events ends, the server refuses a step, no server answers
// for a moment, then the stream begins anew.
func TestACommandThatFollowsGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		server, err := client.NewWith("http://muster.test", "", &http.Client{Transport: roundTrip(
			func(r *http.Request) (*http.Response, error) {
				switch requests++; requests {
				case 1:
					return stream(strings.NewReader("")), nil
				case 2:
					return nil, errors.New("connection refused")
				}
				reader, writer := io.Pipe()
				go func() {
					<-r.Context().Done()
					_ = writer.CloseWithError(r.Context().Err())
				}()
				return stream(reader), nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		var told bytes.Buffer
		steps := []error{nil, &fleet.Error{Code: fleet.CodeUnavailable}, nil}
		err = afterEvents(t.Context(), &environment{Streams: Streams{Err: &told}}, server, func() (bool, error) {
			now := steps[0]
			steps = steps[1:]
			return len(steps) == 0, now
		})
		synctest.Wait()
		if err != nil || len(steps) != 0 || requests != 3 {
			t.Errorf("got %v, %d steps are left, %d requests", err, len(steps), requests)
		}
		if !strings.HasSuffix(told.String(), "; trying again\n") {
			t.Errorf("told %q", told.String())
		}
	})
}

func stream(body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK,
		Body:       io.NopCloser(body),
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
	}
}

func TestACommandThatFollowsEndsWhenItsFirstStepFails(t *testing.T) {
	refused := &fleet.Error{Code: fleet.CodeUnavailable}
	server, err := client.NewWith("http://muster.test", "", &http.Client{Transport: roundTrip(
		func(*http.Request) (*http.Response, error) { return stream(strings.NewReader("")), nil })})
	if err != nil {
		t.Fatal(err)
	}
	env := &environment{Streams: Streams{Err: io.Discard}}
	err = afterEvents(t.Context(), env, server, func() (bool, error) { return false, refused })
	if !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}
