package client

import (
	"context"
	"iter"
)

// usualPage is how many entries Each reads at a time when the List names no number.
const usualPage = 500

// cursor is how far Each has read a list.
type cursor struct {
	query string // The query of the next page; "" before the first one.
	ended bool
}

// Each gives the entries of a list one after the other, and reads a page when the entries of the page before are used
// up. read is a method of the client that gets a List, or a function that calls one:
//
//	for device, err := range client.Each(ctx, c.Devices, client.List{Tag: "laptops"}) {
//
// The loop ends with the list, when it is left, or after an error, which is given with the zero value.
func Each[T any](ctx context.Context, read func(context.Context, List) ([]T, error), l List) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var at cursor
		l := l
		l.cursor = &at
		if l.Page <= 0 {
			l.Page = usualPage
		}
		for !at.ended {
			before := at.query
			page, err := read(ctx, l)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, entry := range page {
				if !yield(entry, nil) {
					return
				}
			}
			if at.query == before { // read did not give its List to a method of the client: there is no next page
				return
			}
		}
	}
}
