package store

import (
	"context"

	"muster/internal/fleet"
)

// describedAtOnce is how many texts are read at a time: each has up to 1 MiB.
const describedAtOnce = 8

// DescribeTemplates finds what programs read that were saved before that was kept, in the history too. It changes
// nothing that a person wrote, and makes no generation. A text that describe fails for is left for the next start.
func (s *Store) DescribeTemplates(ctx context.Context, describe func(context.Context, string) (fleet.Inputs,
	error)) error {
	const some = ` WHERE reads = '' LIMIT $1`
	for {
		templates, err := collect(ctx, pool{s.reads}, s.scanTemplate, selectTemplates+some, describedAtOnce)
		if err != nil {
			return failure("read templates", err)
		}
		past, err := collect(ctx, pool{s.reads}, s.scanPastTemplate, selectPastTemplates+some, describedAtOnce)
		if err != nil {
			return failure("read templates", err)
		}
		if len(templates)+len(past) == 0 {
			return nil
		}
		for _, v := range templates {
			past = append(past, pastTemplate{Template: v})
		}
		for _, v := range past {
			found, err := describe(ctx, v.Text)
			if err != nil {
				return err
			}
			if err := s.keepInputs(ctx, v, found); err != nil {
				return err
			}
		}
	}
}

// keepInputs keeps what a template reads, or, with a generation, what it read then. What was saved meanwhile has that.
func (s *Store) keepInputs(ctx context.Context, v pastTemplate, found fleet.Inputs) error {
	_, err := write(ctx, s, "describe template", func(t *tx) (none struct{}, err error) {
		if v.generation > 0 {
			return none, t.exec(`UPDATE template_history SET reads = $3 WHERE template_id = $1 AND generation = $2`, v.ID,
				v.generation, found.Text())
		}
		n, err := t.affect(`UPDATE templates SET reads = $2 WHERE id = $1 AND reads = ''`, v.ID, found.Text())
		if n > 0 {
			t.register(func(c *contents) {
				c.template(v.ID, func(tagged *fleet.TaggedTemplate) { tagged.Reads = found })
			})
		}
		return none, err
	})
	return err
}
