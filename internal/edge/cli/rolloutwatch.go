package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type rolloutWatchCommand struct{ rolloutOf }

// Help says when the command ends.
func (rolloutWatchCommand) Help() string {
	return `It goes on while the rollout waits for an approval or is paused, and ends when it has succeeded (exit code 0), or
was halted, undone or superseded (exit code 3). Ctrl-C ends the command only: the rollout goes on.`
}

// Run follows a rollout, and prints it at the end.
func (c *rolloutWatchCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	last, err := followRollout(ctx, env, server, int64(c.ID))
	if err != nil {
		return err
	}
	if err := c.show(env, last, false); err != nil {
		return err
	}
	return outcomeOf(last)
}

// followRollout shows how far a rollout is after each event, and ends when it has ended or was halted.
func followRollout(ctx context.Context, env *environment, server *client.Client, id int64) (now api.RolloutDetail,
	err error) {
	bar := env.newProgress()
	defer bar.end()
	err = afterEvents(ctx, env, server, func() (done bool, err error) {
		if now, err = server.Rollout(ctx, id); err != nil {
			return false, err
		}
		bar.at(throughOf(now), int64(len(now.Members)), stepOf(now))
		return isOver(now), nil
	})
	return now, err
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

// throughOf counts the devices that need nothing more.
func throughOf(r api.RolloutDetail) (through int64) {
	for _, m := range r.Members {
		if m.State == string(fleet.MemberGood) || m.State == string(fleet.MemberAbsent) {
			through++
		}
	}
	return through
}

// stepOf sums a rollout up in a few words: "running, wave 2/3: 4 good, 1 held".
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
