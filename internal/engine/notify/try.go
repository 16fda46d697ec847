package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"muster/internal/fleet"
)

// Try sends a message of trial to each receiver once, and waits for the answers. The error names the receivers that did
// not accept it.
func Try(ctx context.Context, senders []Sender) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	now := time.Now().UTC()
	failures := make([]error, len(senders))
	var sending sync.WaitGroup
	for i, sender := range senders {
		sending.Go(func() {
			failures[i] = sender.Send(ctx, trial(now))
		})
	}
	sending.Wait()
	for i, err := range failures {
		if err != nil {
			failures[i] = fmt.Errorf("%s: %w", senders[i].Name(), err)
		}
	}
	if err := errors.Join(failures...); err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, During: "try receivers of notifications",
			Message: "not every receiver accepted the message of trial: " + oneLine(err.Error()),
			Hint:    "Mend the receiver, or correct the setting."}
	}
	return nil
}

// TryOne sends a message of trial to a receiver once, and returns the answer.
func TryOne(ctx context.Context, sender Sender) fleet.Delivery {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	m := trial(time.Now().UTC())
	err := sender.Send(ctx, m)
	tried := fleet.Delivery{At: m.At, NoticeID: m.ID, Type: m.Type, Summary: headline(m), Accepted: err == nil,
		Answer: "accepted"}
	if err != nil {
		tried.Answer = answerOf(err)
	}
	return tried
}
