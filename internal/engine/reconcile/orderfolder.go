package reconcile

import (
	"context"
	"fmt"
	"net/http"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// orderPauseFolder pauses or resumes one folder. Like a pause of all connections it is an edit by a person, which no
// pass takes back. It returns conflict if templates would.
func (c *connection) orderPauseFolder(ctx context.Context, in input, folder string, paused bool) (string, error) {
	in, err := c.read(ctx, in)
	if err != nil {
		return "", err
	}
	changes, path, err := plan.PausingFolder(in.doc, folder, paused)
	if err != nil {
		return "", err
	}
	word := "paused"
	if !paused {
		word = "resumed"
	}
	if len(changes) == 0 {
		return fmt.Sprintf("the folder %q is %s already", folder, word), nil
	}
	why, err := c.takenBack(ctx, in, changes, func(change stconfig.Change, is stconfig.Value) bool {
		return is.Exists() && !is.Equal(change.To)
	})
	if err != nil {
		return "", err
	}
	if why != "" {
		return "", conflict(why,
			"Change the template, or take its tag off the device. To keep Muster from writing, use `muster stop`.")
	}
	body := fmt.Appendf(nil, `{"paused":%t}`, paused)
	err = c.tell(ctx, in, func() error { return c.session.Write(ctx, http.MethodPatch, path, body) })
	if err != nil {
		return "", err
	}
	if in, err = c.read(ctx, in); err != nil {
		return "", err
	}
	if left, _, err := plan.PausingFolder(in.doc, folder, paused); err != nil || len(left) > 0 {
		return "", &fleet.Error{Code: fleet.CodeUnavailable, Hint: "Look at the daemon's own GUI.",
			Message: fmt.Sprintf("the daemon accepted the request, and the folder %q is not %s", folder, word)}
	}
	return fmt.Sprintf("folder %q %s", folder, word), nil
}

// orderFiles overrides or reverts a folder, which cannot be taken back. Type, state and numbers of the folder are read
// right before. The order is refused if the folder is not idle and scanned, or if it would change more items than the
// person was shown.
func (c *connection) orderFiles(ctx context.Context, in input, o fleet.OrderSpec) (string, error) {
	in, err := c.read(ctx, in)
	if err != nil {
		return "", err
	}
	path, err := plan.ChangingFiles(in.doc, o.Type, o.Folder)
	if err != nil {
		return "", err
	}
	summary, err := c.session.Summary(ctx, o.Folder)
	if err != nil {
		return "", err
	}
	if err := plan.MayChangeFiles(o.Type, o.Folder, summary); err != nil {
		return "", err
	}
	items, what := summary.NeedFiles+summary.NeedDirectories+summary.NeedSymlinks+summary.NeedDeletes, "differ"
	if o.Type == fleet.OrderRevert {
		items, what = summary.LocalChanges, "were changed here"
	}
	switch {
	case items == 0:
		return fmt.Sprintf("nothing to do: no items of the folder %q %s", o.Folder, what), nil
	case items > o.MaxItems:
		return "", conflict(
			fmt.Sprintf("%s of the folder %q %s now%s, and at most %s agreed to: the daemon was told nothing",
				fleet.Counted(items, "item", "items"), o.Folder, what, effectOn(o.Type, summary),
				fleet.Counted(o.MaxItems, "was", "were")),
			"Look at the folder again, and give the order anew.",
		)
	}
	err = c.tell(ctx, in, func() error { return c.session.Write(ctx, http.MethodPost, path, nil) })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("told to %s %s of the folder %q%s; it goes on by itself", o.Type,
		fleet.Counted(items, "item", "items"), o.Folder, effectOn(o.Type, summary)), nil
}

// effectOn returns what an override does to the other devices, in brackets; "" for a revert.
func effectOn(order fleet.OrderType, summary fleet.FolderSummary) string {
	if order != fleet.OrderOverride {
		return ""
	}
	deleted, known := plan.DeletedByOverride(summary)
	if !known {
		return " (how many of them the other devices lose is not known, because the folder ignores items)"
	}
	return fmt.Sprintf(" (the other devices lose at most %s of them, and get the rest as they are here)",
		fleet.NumberText(deleted))
}
