package httpapi

import (
	"context"
	"log/slog"

	"muster/internal/engine/view"
	"muster/internal/logkey"
)

// base is what handlers of all nouns use. A noun's handlers embed it beside the interfaces that only they call.
type base struct {
	log      *slog.Logger
	Registry Registry // The part that the caller may see.
	Auth     Authenticator
	Changes  Changes
	Answers  Answers
	Memory   Memory
	Records  Recorder
	plans    turns // Plans for readers wait for a turn.
	whatIfs  turns // Plans of the whole fleet wait for a turn.

	// An undo waits for no what-if and for nobody who reads the list of an undo.
	undoLists turns // Lists of what an undo would do wait for a turn.
	undos     turns // Undos wait for a turn to plan what they answer.

	restPlans turns // What rollouts still do waits for a turn of its own: a page that is open delays no what-if.
	rests     *view.RolloutRests
}

func newBase(o Options) *base {
	return &base{
		log:      o.Log.With(logkey.Component, "httpapi"),
		Registry: o.Registry,
		Auth:     o.Auth,
		Changes:  o.Changes,
		Answers:  o.Answers,
		Memory:   o.Memory,
		Records:  o.Audit,
		plans:    newTurns(maxPlans),
		whatIfs:  newTurns(maxWhatIfs),

		undoLists: newTurns(maxWhatIfs),
		undos:     newTurns(maxWhatIfs),

		restPlans: newTurns(maxWhatIfs),
		rests:     view.NewRolloutRests(),
	}
}

// turns bound how many requests do something at a time. It holds a token for each that is under way.
type turns chan struct{}

func newTurns(most int) turns { return make(turns, most) }

// take waits for a turn; the caller calls end once.
func (t turns) take(ctx context.Context) (end func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
