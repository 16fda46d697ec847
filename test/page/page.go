// Package page controls pages of a real browser for tests.
package page

import (
	"context"
	"strings"

	"github.com/chromedp/chromedp"
)

// Run runs an action in a page and gives its value. Where the page was replaced after chromedp had found an element of
// the one before, nothing was done yet: the element is found anew, until ctx ends.
func Run[T any](ctx context.Context, action chromedp.Action[T]) (T, error) {
	for {
		value, err := chromedp.Run(ctx, action)
		if err == nil || ctx.Err() != nil || !isReplaced(err) {
			return value, err
		}
	}
}

// isReplaced tells whether an element is of a page that was replaced. Chromium has a sentence for an element that a
// command names, and another for one below which it searches, with one code for all its errors.
func isReplaced(err error) bool {
	return strings.Contains(err.Error(), "No node with given id found") ||
		strings.Contains(err.Error(), "Could not find node with given id")
}

// Do runs actions one after the other.
func Do(ctx context.Context, steps ...chromedp.Action[chromedp.Void]) error {
	for _, step := range steps {
		if _, err := Run(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
