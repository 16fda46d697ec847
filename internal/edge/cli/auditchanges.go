package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type auditChangesCommand struct {
	connection
	output
	sorting
	paging
	Limit int    `env:"-" help:"Show at most N changes, up to 100." default:"20" placeholder:"N"`
	Since string `env:"-" help:"Only changes since this time: 2026-01-31, 2026-01-31T08:00:00Z, yesterday, or how long ago, like 2h or 1w." placeholder:"TIME"`
}

// Run prints one change on each line.
func (c *auditChangesCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	since, err := timeOf("--since", c.Since)
	if err != nil {
		return err
	}
	all, err := server.RecentChanges(ctx, max(c.Limit, 1))
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(change api.RecentChange) bool { return change.At.Before(since) })
	return printSorted(env, c.output, c.sorting, columns[api.RecentChange]{
		titles: []string{"AT", "WHO", "TITLE", "WHAT", "ROLLOUT", "UNDO"},
		name:   func(change api.RecentChange) string { return change.At.String() },
		row: func(change api.RecentChange) []string {
			rollout, undo := "-", "-"
			if change.Rollout != 0 {
				rollout = strconv.FormatInt(change.Rollout, 10)
			}
			if change.Undoable {
				undo = fmt.Sprintf("muster rollout undo %d", change.Rollout)
			}
			return []string{change.At.String(), change.Who, change.Title, partsInWords(change), rollout, undo}
		}}, all)
}

const mostDetail = 60 // characters of what else is known of a subject

// subjectInWords names what was changed: the number of a template and the ID of a device say little alone.
func subjectInWords(part api.ChangePart) string {
	subject := part.Subject
	if id, err := fleet.ParseDeviceID(subject); err == nil {
		subject = id.Short()
	}
	if detail := []rune(part.Detail); len(detail) > 0 && len(detail) <= mostDetail && part.Detail != subject {
		subject += " " + part.Detail
	}
	return subject
}

// partsInWords says what was done. A single subject is named; more are counted.
func partsInWords(change api.RecentChange) string {
	texts := make([]string, 0, len(change.Parts))
	for _, part := range change.Parts {
		text := part.Text
		if part.Count == 1 && part.Subject != "" {
			text += " (" + subjectInWords(part) + ")"
		}
		if change.More {
			text = "more than " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
