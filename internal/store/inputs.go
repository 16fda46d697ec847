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
	for {
		texts, err := collect(ctx, pool{s.reads}, func(row scanner) (text string, err error) {
			return text, row.Scan(&text)
		}, `SELECT text FROM templates WHERE reads = '' UNION SELECT text FROM template_history WHERE reads = '' LIMIT $1`,
			describedAtOnce)
		if err != nil || len(texts) == 0 {
			return failure("read templates", err)
		}
		for _, text := range texts {
			found, err := describe(ctx, text)
			if err != nil {
				return err
			}
			if err := s.keepInputs(ctx, text, found); err != nil {
				return err
			}
		}
	}
}

func (s *Store) keepInputs(ctx context.Context, text string, found fleet.Inputs) error {
	_, err := write(ctx, s, "describe template", func(t *tx) (none struct{}, err error) {
		for _, table := range []string{"templates", "template_history"} {
			if err := t.exec(`UPDATE `+table+` SET reads = $2 WHERE text = $1`, text, found.Text()); err != nil {
				return none, err
			}
		}
		t.register(func(c *contents) {
			for id, described := range c.templates {
				if described.Text == text {
					c.template(id, func(tagged *fleet.TaggedTemplate) { tagged.Reads = found })
				}
			}
		})
		return none, nil
	})
	return err
}
