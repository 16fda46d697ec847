package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	readBackTime = 20 * time.Second
	restartTime  = time.Minute // of an API whose `gui` changed
)

const mostTries = 3 // of a restore, while somebody edits at the daemon

// bring plans, asks whether to go on, and sends. Where the daemon moved before the first write, all of it is done again:
// what somebody wrote meanwhile is not to be written over.
func (w *restoring) bring(ctx context.Context, goOn func(context.Context) (bool, error)) error {
	for range mostTries {
		if err := w.plan(ctx); err != nil {
			return err
		}
		if on, err := goOn(ctx); err != nil || !on {
			return err
		}
		if moved, err := w.send(ctx); !moved {
			return err
		}
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: w.what, Message: "the daemon's configuration keeps changing: nothing was written",
		Hint: "Ask again when nobody edits it."}
}

// send records the intent, reads once more, writes, reads back, and records the outcome. moved says that nothing was
// sent, because the daemon has another document by now.
func (w *restoring) send(ctx context.Context) (moved bool, err error) {
	sent := w.out.Plan
	record, err := recordOf(plan.Writes(sent, w.doc))
	if err != nil {
		return false, err
	}
	intent := fleet.Intent{
		Device: w.id, PlanDigest: sent.Digest, Observed: sent.Observed, Cause: w.cause, Writes: record,
		Detail: w.what, CreatedAt: time.Now(),
	}
	if intent.ID, err = w.o.Revisions.BeginIntent(ctx, intent, nil); err != nil {
		return false, fmt.Errorf("record intent: %w", err)
	}
	w.step(StepRestoreIntent)
	if why, err := w.readAgain(ctx, sent.Observed); why != "" {
		err = errors.Join(err, w.finish(ctx, intent, fleet.OutcomeAbandoned, why))
		return err == nil, err
	}
	return false, w.deliver(ctx, intent, sent)
}

// readAgain reads the daemon right before the first write, and says why that must not be sent.
func (w *restoring) readAgain(ctx context.Context, planned string) (why string, err error) {
	if w.doc, err = w.read(ctx); err != nil {
		return "the daemon could not be read", err
	}
	if stconfig.Digest(w.doc) != planned {
		return "the configuration changed meanwhile: planned again", nil
	}
	return "", nil
}

// deliver writes, reads back, and records the outcome.
func (w *restoring) deliver(ctx context.Context, intent fleet.Intent, sent plan.Plan) error {
	failed := w.write(ctx, plan.Writes(sent, w.doc))
	w.step(StepRestoreWritten)
	patience := readBackTime
	if slices.ContainsFunc(sent.Sendable(), func(c plan.Change) bool { return strings.EqualFold(c.Key.At(0).Name, "gui") }) {
		patience = restartTime
	}
	w.request = RestoreRequest{Section: w.request.Section} // the consent was for this once
	if err := w.readBack(ctx, patience); err != nil {
		w.hangUp()
		w.o.Unverified(intent)
		return cmp.Or(failed, fmt.Errorf("read back: %w", err))
	}
	w.o.Restored(w.id, stconfig.Digest(w.doc), w.cause)
	w.step(StepRestoreOutcome)
	w.left = w.out.Plan.Sendable()
	w.out.Plan = sent
	outcome, detail := fleet.OutcomeApplied, w.done
	switch {
	case fleet.CodeOf(failed) == fleet.CodeRejected:
		outcome, detail = fleet.OutcomeRejected, fleet.Reason(failed)
	case failed != nil, len(w.left) > 0:
		outcome, detail = fleet.OutcomePartial, "something is still missing"
	}
	if err := w.finish(ctx, intent, outcome, detail); err != nil {
		return errors.Join(failed, err)
	}
	if failed != nil {
		return failed
	}
	w.out.Done, w.out.Reason = true, detail
	if len(w.left) > 0 {
		w.out.Reason = fmt.Sprintf("the daemon took it and shows %s otherwise", w.left[0].Key)
	}
	return nil
}

// finish records what became of an intent. One that cannot be recorded is verified later.
func (w *restoring) finish(ctx context.Context, intent fleet.Intent, outcome fleet.Outcome, detail string) error {
	err := w.o.Revisions.FinishIntent(ctx, intent.ID, outcome, detail, nil)
	if err == nil {
		return nil
	}
	w.hangUp()
	w.o.Unverified(intent)
	return fmt.Errorf("record outcome: %w", err)
}

func (w *restoring) step(name string) {
	if w.o.Step != nil {
		w.o.Step(name)
	}
}

func recordOf(writes []plan.Write) ([]byte, error) {
	type recorded struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body,omitempty"`
	}
	all := struct {
		Writes []recorded `json:"writes"`
	}{Writes: []recorded{}}
	for _, w := range writes {
		one := recorded{Method: w.Method, Path: w.Path}
		if w.Body.Exists() {
			one.Body = w.Body.JSON()
		}
		all.Writes = append(all.Writes, one)
	}
	return json.Marshal(all)
}

// write sends the narrow writes in order. The first failure ends them.
func (w *restoring) write(ctx context.Context, writes []plan.Write) error {
	for i, one := range writes {
		if mode := w.o.Mode(w.id); mode != fleet.ModeOn {
			return conflict("somebody stopped Muster meanwhile: the mode is "+string(mode), "Compare the revisions, and ask again when Muster may write.")
		}
		body := one.Body
		if one.Whole || one.Wide && i > 0 {
			doc, err := w.read(ctx)
			if err != nil {
				return err
			}
			if body, err = one.Again(doc, w.id); err != nil {
				return err
			}
		}
		var bytes []byte
		if body.Exists() {
			bytes = body.JSON()
		}
		if err := w.session.Write(ctx, one.Method, one.Path, bytes); err != nil {
			return fmt.Errorf("%s %s: %w", one.Method, one.Path, err)
		}
	}
	return nil
}

// readBack plans again from what the daemon has now; its API may be restarting.
func (w *restoring) readBack(ctx context.Context, patience time.Duration) error {
	until := time.Now().Add(patience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := w.again(ctx)
		if err == nil || ctx.Err() != nil || time.Now().Add(pause).After(until) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// again plans once more, over a new connection where the old one is gone.
func (w *restoring) again(ctx context.Context) error {
	if w.session == nil {
		session, err := w.o.Session(ctx, w.id)
		if err != nil {
			return err
		}
		w.session = session
	}
	err := w.plan(ctx)
	if err != nil {
		w.hangUp()
	}
	return err
}

func (w *restoring) hangUp() {
	if w.session != nil {
		w.session.Close()
		w.session = nil
	}
}
