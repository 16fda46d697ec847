package client

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"muster/api"
)

// The wait before a server that could not be reached is tried again. It doubles with each try.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// errLeft ends a stream because the loop over its events was left.
var errLeft = errors.New("the loop over the events was left")

// Watch gives events as they come, those after the one with the ID after, or from now on for 0. When the stream ends,
// it goes on after the last event: the server ends each stream after a while, and it may restart. After an event of
// the type "missed" the server does not have all events any more: read again what you hold.
//
// The loop ends when it is left, or after an error, which is given with the zero value: that of ctx, or one that trying
// again does not mend. A server that could be reached before and cannot now is tried again for as long as ctx lasts;
// EventFilter.Lost is told why.
func (c *Client) Watch(ctx context.Context, filter EventFilter, after int64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		reached, wait := false, firstRetry
		opened := filter.Opened
		filter := filter
		filter.Opened = func() {
			reached, wait = true, firstRetry
			if opened != nil {
				opened()
			}
		}
		for {
			began, before := time.Now(), after
			last, err := c.Events(ctx, filter, after, func(e api.Event) error {
				if !yield(e, nil) {
					return errLeft
				}
				return nil
			})
			after = last
			switch {
			case errors.Is(err, errLeft):
				return
			case err == nil && (last != before || time.Since(began) >= firstRetry):
				continue
			case err == nil: // It ended at once: asking again without a pause would ask without end.
			case !reached || ctx.Err() != nil || CodeOf(err) != CodeUnavailable:
				yield(api.Event{}, err)
				return
			}
			if err != nil && filter.Lost != nil {
				filter.Lost(err)
			}
			select {
			case <-time.After(wait/2 + rand.N(wait/2)):
			case <-ctx.Done():
				yield(api.Event{}, ctx.Err())
				return
			}
			wait = min(2*wait, lastRetry)
		}
	}
}
