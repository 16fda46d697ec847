package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type rolloutWatchCommand struct{ rolloutOf }

// Help says when it ends.
func (rolloutWatchCommand) Help() string {
	return `It goes on while the rollout waits for an approval or is paused, and ends when it has succeeded (exit code 0), or
was halted, undone or superseded (exit code 3). Ctrl-C ends the command only: the rollout goes on.`
}

// Run follows a rollout, and prints how it stands in the end.
func (c *rolloutWatchCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	last, err := followRollout(ctx, env, server, c.ID)
	if err != nil {
		return err
	}
	if err := c.show(env, last, false); err != nil {
		return err
	}
	return outcomeOf(last)
}

// followRollout shows how far a rollout is after each event, and ends when it has ended or was halted.
func followRollout(ctx context.Context, env *environment, server *client.Client, id int64) (api.RolloutDetail, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, server, changed) }()
	bar := env.newProgress()
	defer bar.end()
	for {
		now, err := server.Rollout(ctx, id)
		if err != nil {
			return now, err
		}
		bar.at(throughOf(now), int64(len(now.Members)), stepOf(now))
		if isOver(now) {
			return now, nil
		}
		select {
		case <-changed:
		case err := <-ended:
			return now, err
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

func isOver(r api.RolloutDetail) bool {
	switch fleet.RolloutStatus(r.Status) {
	case fleet.RolloutWaiting, fleet.RolloutRunning, fleet.RolloutPaused:
		return false
	}
	return true
}

// outcomeOf is the exit code of a rollout that is over.
func outcomeOf(r api.RolloutDetail) error {
	return waits(r.Status != string(fleet.RolloutSucceeded))
}

// throughOf is how many devices need nothing more.
func throughOf(r api.RolloutDetail) (through int64) {
	for _, m := range r.Members {
		if m.State == string(fleet.MemberGood) || m.State == string(fleet.MemberAbsent) {
			through++
		}
	}
	return through
}

// stepOf says how a rollout stands, in a few words: "running, wave 2/3: 4 good, 1 held".
func stepOf(r api.RolloutDetail) string {
	counts := map[string]int{}
	for _, m := range r.Members {
		counts[m.State]++
	}
	var parts []string
	for _, state := range []fleet.MemberState{fleet.MemberGood, fleet.MemberAdmitted, fleet.MemberHeld,
		fleet.MemberFailed, fleet.MemberAbsent} {
		if n := counts[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	text := fmt.Sprintf("Rollout %d: %s, wave %s", r.ID, r.Status, waveOf(r.Rollout))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}
