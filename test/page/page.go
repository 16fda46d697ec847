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
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "No node with given id found") {
			return value, err
		}
	}
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
