package notify

import (
	"context"
	"crypto/rand"
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
			id := rand.Text()
			failures[i] = sender.Send(ctx, Message{ID: id, ProblemID: id, Type: fleet.NoticeTrial, Since: now, At: now,
				Reason: "somebody tries whether this receiver is told of problems; nothing is wrong"})
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
