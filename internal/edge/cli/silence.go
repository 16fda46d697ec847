package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type silenceCommand struct {
	Add  silenceAddCommand        `cmd:"" help:"Keep Muster from telling anybody of some problems until a time."`
	List listCommand[api.Silence] `cmd:"" help:"List the silences that have not ended."`
	End  silenceEndCommand        `cmd:"" help:"End a silence now: what lasts is told."`
}

var silenceNoun = noun[api.Silence]{
	all: unfiltered((*client.Client).Silences),
	columns: columns[api.Silence]{
		titles: []string{"SILENCE", "OF", "UNTIL", "REASON", "MADE BY"},
		name:   func(s api.Silence) string { return s.ID },
		row: func(s api.Silence) []string {
			return []string{s.ID, matchInWords(s.ProblemMatch), s.Until.String(), cmp.Or(s.Reason, "-"), s.CreatedBy}
		}},
	about: func(s api.Silence) string { return matchInWords(s.ProblemMatch) },
}

// silenceVerbs are the commands that are described by data alone.
var silenceVerbs = silenceCommand{List: listOf(silenceNoun)}

type silenceAddCommand struct {
	connection
	output
	messaging
	matching
	Until  moment `env:"-" help:"When it ends, at most 90 days from now: a time of day such as 18:00, a duration such as 2h or 3d, or 2026-12-24T18:00:00Z." required:"" placeholder:"TIME"`
	Reason string `env:"-" help:"Why, for others who see the silence." placeholder:"TEXT"`
}

// Run makes the silence.
func (c *silenceAddCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	match, err := c.match(ctx, server)
	if err != nil {
		return err
	}
	until, err := c.Until.after(time.Now())
	if err != nil {
		return err
	}
	body := api.CreateSilence{PutProblemMatch: match, Until: &api.Time{Time: until}}
	if c.Reason != "" {
		body.Reason = &c.Reason
	}
	made, err := server.CreateSilence(ctx, body)
	if err != nil {
		return err
	}
	return c.done(env, made.ID, made, fmt.Sprintf("Nobody is told of %s until %s. `muster silence end %s` ends it before.",
		printable(matchInWords(made.ProblemMatch)), made.Until, made.ID))
}

// moment is a time as people write it: a time of day, a duration from now, or a whole time.
type moment string

// after returns the moment. A time of day is the next one after now, in the time zone of this machine.
func (m moment) after(now time.Time) (time.Time, error) {
	var from lifetime
	if from.UnmarshalText([]byte(m)) == nil {
		return now.Add(time.Duration(from)), nil
	}
	if at, err := time.Parse(time.RFC3339, string(m)); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation("15:04", strings.TrimSpace(string(m)), now.Location())
	if err != nil {
		return at, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no time", string(m)),
			Hint: "Write a time of day such as 18:00, a duration such as 2h or 3d, or 2026-12-24T18:00:00Z."}
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
	if !today.After(now) {
		today = today.AddDate(0, 0, 1)
	}
	return today, nil
}

type silenceEndCommand struct {
	removing
	Silence string `arg:"" help:"ID of the silence, as the list shows it."`
}

// Run ends the silence.
func (c *silenceEndCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	silence, err := silenceNoun.find(ctx, server, c.Silence)
	if err != nil {
		return err
	}
	question := ""
	if silence != nil {
		question = fmt.Sprintf("End the silence %s? Of %s, what lasts is told then.", silence.ID,
			printable(matchInWords(silence.ProblemMatch)))
	}
	return c.remove(ctx, env, removal{name: c.Silence, question: question, remove: server.EndSilence, change: "ended",
		done: fmt.Sprintf("The silence %s is over.", c.Silence)})
}
