package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// transport answers requests without a network, or fails.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// scripted is a client whose requests are answered one after the other by these functions, and the Last-Event-IDs that
// it sent.
func scripted(t *testing.T, answers ...http.HandlerFunc) (c *Client, sent *[]string) {
	t.Helper()
	sent = &[]string{}
	c, err := NewWith("http://muster.test", "secret", &http.Client{Transport: transport(
		func(r *http.Request) (*http.Response, error) {
			*sent = append(*sent, r.Header.Get("Last-Event-ID"))
			if len(answers) == 0 {
				t.Fatal("one more request than answers")
			}
			answer := answers[0]
			answers = answers[1:]
			if answer == nil {
				return nil, errors.New("no server answers")
			}
			w := httptest.NewRecorder()
			answer(w, r)
			return w.Result(), nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	return c, sent
}

// events answers with a stream of events with these IDs, which then ends.
func events(ids ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, id := range ids {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: {\"id\":%d,\"type\":\"device\",\"time\":\"2026-01-01T00:00:00Z\"}\n\n", id, id)
		}
	}
}

func refuses(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func TestWatchGoesOnAfterTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, sent := scripted(t, events(4, 5), nil, refuses(http.StatusServiceUnavailable), events(6),
			refuses(http.StatusUnauthorized))
		var got []int64
		var last error
		lost := 0
		for event, err := range c.Watch(t.Context(), EventFilter{Lost: func(error) { lost++ }}, 3) {
			if last = err; err == nil {
				got = append(got, event.ID)
			}
		}
		if !slices.Equal(got, []int64{4, 5, 6}) || CodeOf(last) != CodeUnauthorized || lost != 2 {
			t.Errorf("got %v, %v, lost %d times", got, last, lost)
		}
		if want := []string{"3", "5", "5", "5", "6"}; !slices.Equal(*sent, want) {
			t.Errorf("Last-Event-ID was %v", *sent)
		}
	})
}

func TestWatchEndsWhenNoServerWasEverThere(t *testing.T) {
	c, _ := scripted(t, nil)
	count := 0
	for _, err := range c.Watch(t.Context(), EventFilter{}, 0) {
		if count++; CodeOf(err) != CodeUnavailable {
			t.Errorf("got %v", err)
		}
	}
	if count != 1 {
		t.Errorf("the loop ran %d times", count)
	}
}

func TestALoopOverEventsIsLeft(t *testing.T) {
	c, sent := scripted(t, events(1, 2, 3))
	for event := range c.Watch(t.Context(), EventFilter{}, 0) {
		if event.ID == 2 {
			break
		}
	}
	if len(*sent) != 1 {
		t.Errorf("%d requests", len(*sent))
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, _ := scripted(t, events(1), nil)
		var last error
		for _, err := range c.Watch(ctx, EventFilter{Lost: func(error) { cancel() }}, 0) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v", last)
		}
	})
}

func TestWatchPausesAfterAStreamThatEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c, sent := scripted(t, events(), events(), refuses(http.StatusUnauthorized))
		for range c.Watch(t.Context(), EventFilter{Lost: func(err error) { t.Errorf("lost: %v", err) }}, 0) {
		}
		if len(*sent) != 3 || time.Since(began) < firstRetry {
			t.Errorf("%d requests in %v", len(*sent), time.Since(began))
		}
	})
}

func TestWatchRefusesAPageThatIsNoStream(t *testing.T) {
	c, _ := scripted(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>log in</html>") })
	var errs []error
	for _, err := range c.Watch(t.Context(), EventFilter{}, 0) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || CodeOf(errs[0]) != CodeInternal {
		t.Errorf("got %v", errs)
	}
}
